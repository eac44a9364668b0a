//! Tests of the sandbox's public calls, with real files, blocks and signatures.

#[cfg(test)]
mod addresses;
#[cfg(test)]
mod blocks;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod common;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod file;
#[cfg(test)]
mod judged;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod queries;
#[cfg(test)]
mod reorgs;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod watched;
