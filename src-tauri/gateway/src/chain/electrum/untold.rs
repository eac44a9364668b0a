//! Scripts that strangers chose and of which a server told nothing: they are too long for it, or for whoever asks. Asking again with each
//! look would cost each as much, and tell as little.

use std::collections::BTreeMap;

use super::call::ScriptHash;

/// Blocks between two questions at most.
const SPAN_MAX: u32 = 144;

/// Scripts that are remembered.
const SCRIPTS_MAX: usize = 20_000;

/// Until when nothing is asked about which scripts.
#[derive(Debug, Default)]
pub(super) struct Untold(BTreeMap<ScriptHash, Rest>);

#[derive(Debug)]
struct Rest {
    until: u32,
    span: u32,
}

impl Untold {
    /// Whether nothing is to be asked about a script while the best block has this height.
    pub(super) fn holds(&self, hash: &ScriptHash, height: u32) -> bool {
        self.0.get(hash).is_some_and(|rest| height < rest.until)
    }

    /// Nothing was told of a script: it is asked about with the next block, and then after twice as many each time.
    pub(super) fn note(&mut self, hash: ScriptHash, height: u32) {
        if self.holds(&hash, height) {
            return;
        }
        if self.0.len() >= SCRIPTS_MAX {
            self.0.pop_first();
        }
        let span = self.0.get(&hash).map_or(1, |rest| rest.span.saturating_mul(2).min(SPAN_MAX));
        self.0.insert(hash, Rest { until: height.saturating_add(span), span });
    }

    /// All was told of a script.
    pub(super) fn forget(&mut self, hash: &ScriptHash) {
        self.0.remove(hash);
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::Script;

    use super::*;

    #[test]
    fn a_script_is_asked_about_with_the_next_block_and_then_ever_more_rarely() {
        let (mut untold, hash) = (Untold::default(), ScriptHash::of(Script::new()));
        assert!(!untold.holds(&hash, 100));
        let mut asked = Vec::new();
        for height in 100..1_000 {
            if !untold.holds(&hash, height) {
                asked.push(height);
                // However often in a block.
                (0..3).for_each(|_| untold.note(hash, height));
            }
        }
        assert_eq!(asked[..9], [100, 101, 103, 107, 115, 131, 163, 227, 355]);
        assert!(asked.windows(2).all(|two| two[1] - two[0] <= SPAN_MAX));
        untold.forget(&hash);
        assert!(!untold.holds(&hash, 1_000));
    }
}
