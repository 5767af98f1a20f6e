//! Real servers, good and bad, behind the real road. The stdio server is this test program itself, started again.

mod http;
mod login;
mod rig;
mod road;
mod stdio;
