//! The words of a wallet in the making, while a person writes them down. They are in memory only.

use std::time::Duration;

use parking_lot::Mutex;
use tillgate_machine::secrets::Secret;
use tokio::time::Instant;

/// Time for which the words are kept in memory.
pub const DRAFT_KEPT_FOR: Duration = Duration::from_secs(15 * 60);

/// A wallet in the making.
#[derive(Debug, Clone)]
pub struct WordsDraft {
    /// Distinguishes this draft from later ones.
    pub id: String,
    /// The words to be written down.
    pub words: Secret,
    /// Positions, from 1, of the two words that the person must repeat.
    pub asked: [usize; 2],
}

/// The draft of a gateway, at most one.
#[derive(Default)]
pub struct WordsDrafts {
    kept: Mutex<Option<(WordsDraft, Instant)>>,
}

impl WordsDrafts {
    /// Keeps a draft in place of any earlier one.
    pub fn put(&self, draft: WordsDraft, now: Instant) {
        *self.kept.lock() = Some((draft, now));
    }

    /// The draft of this id, if it is still kept.
    pub fn get(&self, id: &str, now: Instant) -> Option<WordsDraft> {
        let mut kept = self.kept.lock();
        if kept.as_ref().is_some_and(|(_, at)| now.saturating_duration_since(*at) >= DRAFT_KEPT_FOR)
        {
            *kept = None;
        }
        kept.as_ref().filter(|(draft, _)| draft.id == id).map(|(draft, _)| draft.clone())
    }

    pub fn forget(&self, id: &str) {
        let mut kept = self.kept.lock();
        if kept.as_ref().is_some_and(|(draft, _)| draft.id == id) {
            *kept = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(id: &str) -> WordsDraft {
        WordsDraft { id: id.to_owned(), words: Secret::new("some words".to_owned()), asked: [1, 2] }
    }

    #[test]
    fn words_are_kept_for_15_minutes_or_until_used_or_replaced() {
        let (drafts, now) = (WordsDrafts::default(), Instant::now());
        drafts.put(draft("a"), now);
        assert!(drafts.get("a", now).is_some() && drafts.get("b", now).is_none());
        drafts.put(draft("b"), now);
        assert!(drafts.get("a", now).is_none() && drafts.get("b", now).is_some());
        drafts.forget("a");
        assert!(drafts.get("b", now).is_some(), "forgetting an old draft forgot the new one");
        assert!(drafts.get("b", now + DRAFT_KEPT_FOR - Duration::from_secs(1)).is_some());
        assert!(
            drafts.get("b", now + DRAFT_KEPT_FOR).is_none() && drafts.kept.lock().is_none(),
            "the words expire"
        );
        drafts.put(draft("c"), now);
        drafts.forget("c");
        assert!(drafts.kept.lock().is_none());
    }

    #[test]
    fn the_debug_output_of_a_draft_hides_its_words() {
        assert!(!format!("{:?}", draft("a")).contains("some"));
    }
}
