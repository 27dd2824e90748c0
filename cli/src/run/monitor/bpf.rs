//! bpf(2), as far as the monitor needs it.

use std::ffi::CStr;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::program::Instruction;

const MAP_CREATE: i32 = 0;
const MAP_UPDATE_ELEM: i32 = 2;
const PROG_LOAD: i32 = 5;
const RAW_TRACEPOINT_OPEN: i32 = 17;
const MAP_FREEZE: i32 = 22;

const MAP_TYPE_ARRAY: u32 = 2;
const F_MMAPABLE: u32 = 1 << 10;
const PROG_TYPE_TRACING: u32 = 26;
const TRACE_RAW_TP: u32 = 23;

const NAME: [u8; 16] = *b"furwock_monitor\0";

#[derive(Default)]
#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    inner_map_fd: u32,
    numa_node: u32,
    map_name: [u8; 16],
}

#[derive(Default)]
#[repr(C)]
struct ProgLoad {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
    prog_name: [u8; 16],
    prog_ifindex: u32,
    expected_attach_type: u32,
    prog_btf_fd: u32,
    func_info_rec_size: u32,
    func_info: u64,
    func_info_cnt: u32,
    line_info_rec_size: u32,
    line_info: u64,
    line_info_cnt: u32,
    attach_btf_id: u32,
    attach_btf_obj_fd: u32,
    _rest: u32,
}

#[derive(Default)]
#[repr(C)]
struct RawTracepoint {
    name: u64,
    prog_fd: u32,
    _rest: u32,
}

#[derive(Default)]
#[repr(C)]
struct MapUpdate {
    map_fd: u32,
    _rest: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[derive(Default)]
#[repr(C)]
struct MapFreeze {
    map_fd: u32,
}

/// # Safety
/// The pointers in `attributes` are those that `command` takes, and valid.
unsafe fn call<A>(command: i32, attributes: &mut A) -> io::Result<i32> {
    // SAFETY: by this function's contract. The structures are as long as they say.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<A>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

/// The descriptor that a call gave, closed in programs that this process becomes.
fn opened(result: io::Result<i32>) -> io::Result<OwnedFd> {
    // SAFETY: the calls that end here have just opened it.
    result.map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// An array with this one value, that processes may map.
///
/// From then on only BPF programs write it. (A descriptor that is for reading alone would do as
/// well, if the kernel let such a one be mapped.)
pub fn create_map(value: &[u8]) -> io::Result<OwnedFd> {
    let mut attributes = MapCreate {
        map_type: MAP_TYPE_ARRAY,
        key_size: 4,
        value_size: value.len() as u32,
        max_entries: 1,
        map_flags: F_MMAPABLE,
        map_name: NAME,
        ..MapCreate::default()
    };
    // SAFETY: there are none.
    let map = opened(unsafe { call(MAP_CREATE, &mut attributes) })?;
    let map_fd = map.as_raw_fd() as u32;
    let key = 0_u32;
    let (key, value) = (&raw const key as u64, value.as_ptr() as u64);
    let mut attributes = MapUpdate { map_fd, key, value, ..MapUpdate::default() };
    // SAFETY: key and value are as long as the map's.
    unsafe { call(MAP_UPDATE_ELEM, &mut attributes) }?;
    // SAFETY: there are none.
    unsafe { call(MAP_FREEZE, &mut MapFreeze { map_fd }) }?;
    Ok(map)
}

/// A program for the tracepoint whose type is `tracepoint`, as the kernel has checked it.
pub fn load(program: &[Instruction], license: &CStr, tracepoint: u32) -> io::Result<OwnedFd> {
    let mut attributes = ProgLoad {
        prog_type: PROG_TYPE_TRACING,
        insn_cnt: program.len() as u32,
        insns: program.as_ptr() as u64,
        license: license.as_ptr() as u64,
        prog_name: NAME,
        expected_attach_type: TRACE_RAW_TP,
        attach_btf_id: tracepoint,
        ..ProgLoad::default()
    };
    // SAFETY: so many instructions, and a C string.
    opened(unsafe { call(PROG_LOAD, &mut attributes) })
}

/// Attaches it, as long as the result is open in any process.
pub fn attach(program: &OwnedFd) -> io::Result<OwnedFd> {
    let mut attributes =
        RawTracepoint { prog_fd: program.as_raw_fd() as u32, ..RawTracepoint::default() };
    // SAFETY: a program for BTF names its tracepoint itself.
    opened(unsafe { call(RAW_TRACEPOINT_OPEN, &mut attributes) })
}
