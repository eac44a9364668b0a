//! Numbers in texts for people.

/// A number with the noun it counts: `1 payment`, `2 payments`.
#[must_use]
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn the_count_one_is_singular() {
        for (number, said) in [(0, "0 lines"), (1, "1 line"), (2, "2 lines"), (21, "21 lines")] {
            assert_eq!(count(number, "line", "lines"), said);
        }
    }
}
