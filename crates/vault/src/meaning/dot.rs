//! The sum of products of a row and a question: the inner loop of the search by meaning.
//!
//! Called for every row by [`super::vectors`]. Plain code that the compiler makes vector instructions of; on processors
//! with AVX2, which a program for all of x86-64 may not presume, the same code is compiled a second time for it and
//! chosen at run time.

/// The sum of products of a row and a question of the same length.
#[inline]
pub(super) fn dot(row: &[i8], query: &[i16]) -> i32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "only a check at run time can tell which instructions there are")]
        // SAFETY: the processor has AVX2, which is all that the function asks for.
        return unsafe { with_avx2(row, query) };
    }
    lanes(row, query)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(row: &[i8], query: &[i16]) -> i32 {
    lanes(row, query)
}

/// Whole lanes of 32 first: with a length known beforehand the compiler needs no loop for the rest.
#[inline(always)]
fn lanes(row: &[i8], query: &[i16]) -> i32 {
    let (rows, row_rest) = row.as_chunks::<32>();
    let (queries, query_rest) = query.as_chunks::<32>();
    let lanes: i32 = rows.iter().zip(queries).map(|(row, query)| products(row, query)).sum();
    lanes + products(row_rest, query_rest)
}

#[inline(always)]
fn products(row: &[i8], query: &[i16]) -> i32 {
    row.iter().zip(query).map(|(row, query)| i32::from(*row) * i32::from(*query)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_gives_the_same_sum() {
        for length in [0, 1, 31, 32, 33, 128, 384, 1_000, 3_072] {
            let row: Vec<i8> = (0..length).map(|at| (at * 37 % 255) as u8 as i8).collect();
            let query: Vec<i16> = (0..length).map(|at| (at * 91 % 4_095) as i16 - 2_047).collect();
            let expected: i64 = row.iter().zip(&query).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum();
            assert_eq!(i64::from(dot(&row, &query)), expected);
            assert_eq!(i64::from(lanes(&row, &query)), expected);
        }
    }
}
