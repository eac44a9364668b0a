//! Access to the machine: time, random numbers, files, secrets, and connections to other machines.
//! The strict reader of JSON and the faults of a request stand here too, because every shell reads
//! with them.

pub mod ballast;
pub mod clock;
pub mod data_dir;
pub mod descriptors;
pub mod disk;
pub mod entropy;
pub mod environment;
pub mod fail_points;
pub mod field_errors;
pub mod json;
#[cfg(all(target_os = "linux", any(test, feature = "testing")))]
pub mod keyring_session;
pub mod locale;
pub mod outgoing;
pub mod private_file;
pub mod secrets;
pub mod threads;
pub mod trust;
