//! A page of results that stands by itself: one file, no network, light and dark, on a screen of any
//! width and on paper.

pub mod model;
