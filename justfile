# Everything that CI does.
ci:
    .ci/run

# The pages that are made from the program.
docs:
    cargo run --quiet -- docs tools > docs/tools.md
    cargo run --quiet -- docs config > docs/config.md
