//! A filter of system calls, put together from refusals.

/// A seccomp filter that allows what it does not name.
pub struct Filter {
    program: Vec<libc::sock_filter>,
}

/// Offsets into `struct seccomp_data`.
const CALL: u32 = 0;
const ARCH: u32 = 4;
const FIRST_ARGUMENT_LOW: u32 = 16;
const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
/// The bit that marks system calls of the x32 interface.
const X32: u32 = 0x4000_0000;

impl Filter {
    /// Refuses the calls of every other architecture with `errno`.
    pub fn for_this_machine(errno: i32) -> Self {
        let mut filter = Self { program: Vec::new() };
        filter.load(ARCH);
        filter.jump(libc::BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
        filter.answer(errno);
        filter.load(CALL);
        filter.jump(libc::BPF_JGE, X32, 0, 1);
        filter.answer(errno);
        filter
    }

    /// Answers the call with `errno`.
    pub fn refuse(&mut self, call: i64, errno: i32) {
        self.jump(libc::BPF_JEQ, call as u32, 0, 1);
        self.answer(errno);
    }

    /// Lets the call wait for the answer of whoever listens, who then answers in the kernel's place.
    pub fn ask(&mut self, call: i64) {
        self.jump(libc::BPF_JEQ, call as u32, 0, 1);
        self.push(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_USER_NOTIF);
    }

    /// Answers the call with `errno` when its first argument has one of `flags`.
    pub fn refuse_flags(&mut self, call: i64, flags: i32, errno: i32) {
        self.jump(libc::BPF_JEQ, call as u32, 0, 4);
        self.load(FIRST_ARGUMENT_LOW);
        self.jump(libc::BPF_JSET, flags as u32, 0, 1);
        self.answer(errno);
        self.load(CALL);
    }

    /// The whole program.
    pub fn finish(mut self) -> Vec<libc::sock_filter> {
        self.push(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW);
        self.program
    }

    fn load(&mut self, offset: u32) {
        self.push(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
    }

    fn jump(&mut self, test: u32, value: u32, yes: u8, no: u8) {
        self.push(libc::BPF_JMP | test | libc::BPF_K, yes, no, value);
    }

    fn answer(&mut self, errno: i32) {
        self.push(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32);
    }

    fn push(&mut self, code: u32, jt: u8, jf: u8, k: u32) {
        self.program.push(libc::sock_filter { code: code as u16, jt, jf, k });
    }
}
