//! Products of matrices, behind a safe face: `matrixmultiply` takes raw pointers.
//!
//! Called by the BERT encoder. The crate was chosen because it is small (one dependency), uses one thread, and picks AVX
//! and FMA at run time.

/// Numbers seen as rows and columns.
#[derive(Clone, Copy)]
pub(super) struct Grid<'g> {
    numbers: &'g [f32],
    rows: usize,
    columns: usize,
    row_step: usize,
    column_step: usize,
}

impl<'g> Grid<'g> {
    /// Rows one behind the other.
    pub(super) fn new(numbers: &'g [f32], rows: usize, columns: usize) -> Grid<'g> {
        Grid::within(numbers, rows, columns, columns)
    }

    /// A part of wider rows: it begins with the first number, and `row_step` numbers on is the next row.
    pub(super) fn within(numbers: &'g [f32], rows: usize, columns: usize, row_step: usize) -> Grid<'g> {
        Grid { numbers, rows, columns, row_step, column_step: 1 }
    }

    /// Rows as columns.
    pub(super) fn turned(self) -> Grid<'g> {
        Grid {
            rows: self.columns,
            columns: self.rows,
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }

    fn end(&self) -> usize {
        end(self.rows, self.columns, self.row_step, self.column_step)
    }
}

/// One past the last number that a grid touches.
fn end(rows: usize, columns: usize, row_step: usize, column_step: usize) -> usize {
    if rows == 0 || columns == 0 { 0 } else { (rows - 1) * row_step + (columns - 1) * column_step + 1 }
}

/// `out = scale × left × right + out × keep`, with rows of `out` `out_step` numbers apart. Grids that do not fit are a
/// mistake of this crate; the product is then left out rather than read beyond an end.
pub(super) fn multiply(
    scale: f32,
    left: Grid<'_>,
    right: Grid<'_>,
    keep: f32,
    out: &mut [f32],
    out_step: usize,
) {
    let (rows, inner, columns) = (left.rows, left.columns, right.columns);
    let fits = right.rows == inner
        && left.end() <= left.numbers.len()
        && right.end() <= right.numbers.len()
        && end(rows, columns, out_step, 1) <= out.len()
        && (rows <= 1 || out_step >= columns);
    debug_assert!(fits, "grids that do not fit");
    if !fits {
        return;
    }
    let step = |number: usize| isize::try_from(number).unwrap_or(isize::MAX);
    #[expect(unsafe_code, reason = "the crate takes pointers")]
    // SAFETY: every place that the strides reach was found above to lie inside its slice, `out` is borrowed mutably and
    // so overlaps neither of the others, and its rows do not overlap each other.
    unsafe {
        matrixmultiply::sgemm(
            rows,
            inner,
            columns,
            scale,
            left.numbers.as_ptr(),
            step(left.row_step),
            step(left.column_step),
            right.numbers.as_ptr(),
            step(right.row_step),
            step(right.column_step),
            keep,
            out.as_mut_ptr(),
            step(out_step),
            1,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_definition() {
        let left = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let right = [1.0, 0.0, 2.0, 1.0, 0.5, 0.25];
        let mut out = vec![1.0; 6];
        // 2 × 3 by 3 × 2, into rows that are 3 apart.
        multiply(1.0, Grid::new(&left, 2, 3), Grid::new(&right, 3, 2), 0.0, &mut out, 3);
        assert_eq!(out, [6.5, 2.75, 1.0, 17.0, 6.5, 1.0]);
        let mut out = vec![0.0; 4];
        multiply(2.0, Grid::new(&left, 2, 3), Grid::new(&right, 2, 3).turned(), 0.0, &mut out, 2);
        assert_eq!(out, [14.0, 5.5, 32.0, 16.0]);
    }
}
