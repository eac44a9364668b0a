//! The desktop program as a person uses it: started under a display without a screen, driven through WebDriver. The
//! tests wait for conditions only.
#![cfg(test)]

mod app;
mod display;
mod environments;
mod golive;
mod payouts;
mod quitting;
mod session;
mod stories;
