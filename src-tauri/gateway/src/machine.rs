//! Access to the machine: time, random numbers, files, secrets, and connections to other machines.

pub(crate) mod ballast;
pub(crate) mod clock;
pub(crate) mod data_dir;
pub(crate) mod descriptors;
pub(crate) mod disk;
pub(crate) mod entropy;
pub(crate) mod environment;
pub(crate) mod fail_points;
pub(crate) mod locale;
pub(crate) mod outgoing;
pub(crate) mod owed;
pub(crate) mod private_file;
pub(crate) mod secrets;
pub(crate) mod threads;
pub(crate) mod trust;
pub(crate) mod upper_bound;
pub(crate) mod wallet_mark;
