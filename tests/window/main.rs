//! End-to-end tests of the desktop program, driven through WebDriver on a virtual display. They
//! wait for conditions, not for fixed times.
#![cfg(test)]

mod app;
mod display;
mod environments;
mod golive;
mod measures;
mod payouts;
mod quitting;
mod screens;
mod session;
mod shop;
mod stories;
mod till;
