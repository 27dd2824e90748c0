//! How figures are written and tables laid out: the command's own code.

#[path = "../../cli/src/measuring/number.rs"]
pub mod number;
#[path = "../../cli/src/measuring/table.rs"]
pub mod table;
