//! The store survives what machines do to it.

mod broken_disk;
mod damage;
mod golden;
mod killed;
mod model;
mod promises;
mod state;
mod support;
