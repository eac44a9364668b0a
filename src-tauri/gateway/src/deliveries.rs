//! To come with the next commits.
