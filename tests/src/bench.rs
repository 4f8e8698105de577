//! What benchmarks share: rows of a table, each with its verdict.

/// Rows that were printed, and whether one missed its budget.
#[derive(Debug, Default)]
pub struct Table {
    missed: bool,
}

impl Table {
    /// Prints a row: what was measured, the figures, their ratio, and how much is allowed.
    #[expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
    pub fn row(&mut self, what: &str, measured: &str, ratio: Option<f64>, allowed: Allowed) {
        let (met, of) = match (ratio, allowed) {
            (Some(ratio), Allowed::AtMost(most)) => (ratio <= most, format!("of {most} allowed")),
            (Some(ratio), Allowed::AtLeast(least)) => {
                (ratio >= least, format!("of {least} required"))
            }
            (_, _) => (true, String::new()),
        };
        self.missed |= !met;
        let verdict = if met { "ok" } else { "MISSED" };
        let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        println!("{verdict:6} {what:38} {measured:28} {ratio:>6} {of}");
    }

    /// Whether every budget was met.
    pub fn met(&self) -> bool {
        !self.missed
    }
}

/// What a ratio may be.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "benchmarks of this workspace use it"
)]
pub enum Allowed {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
    /// Anything: the row informs.
    Any,
}

/// The one in the middle.
pub fn median<T: Ord + Copy + Default>(samples: &mut [T]) -> T {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}
