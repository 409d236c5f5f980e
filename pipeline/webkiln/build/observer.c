/* Reports the file accesses of a process and its children: a library for LD_PRELOAD on Linux.

   $WEBKILN_OBSERVER is the file to append records to, followed by folders that are not recorded,
   one per line. A record is "KIND ERROR TYPE INODE SIZE MTIME CTIME PATH" and a null byte. Times
   are in nanoseconds, TYPE is as in S_IFMT:
     r  opened for reading        w  opened for writing       s  state queried
     l  names listed              p  program executed
     e  a program that a process is about to execute; INODE is the process
     x  a program that runs and is observed; INODE is the process
   All records but listings are written once per process. They contain the state at the time of the
   call, with links followed. ERROR is the errno of the call, or 0.
   A file that changed within the last tick of the kernel's clock is read again after the tick, so
   that every later change leaves another state.

   No headers are included, so that clang builds this without the headers of the C library. */

typedef unsigned long size_t;
typedef __builtin_va_list va_list;

extern void *dlsym(void *library, const char *name);
extern long syscall(long number, ...);
extern char *getenv(const char *name);
extern int *__errno_location(void);
extern char **environ;

#if defined(__x86_64__)
enum {
  SYS_OPENAT = 257, SYS_READLINKAT = 267, SYS_STATX = 332, SYS_GETCWD = 79, SYS_GETPID = 39,
  SYS_WRITE = 1, SYS_CLOSE = 3, SYS_CLOCK_GETTIME = 228, SYS_NANOSLEEP = 35
};
#elif defined(__aarch64__)
enum {
  SYS_OPENAT = 56, SYS_READLINKAT = 78, SYS_STATX = 291, SYS_GETCWD = 17, SYS_GETPID = 172,
  SYS_WRITE = 64, SYS_CLOSE = 57, SYS_CLOCK_GETTIME = 113, SYS_NANOSLEEP = 101
};
#else
#error "observers support x86-64 and arm64 only"
#endif

enum {
  CWD = -100, WRONLY = 1, CREATE = 0100, TRUNCATE = 01000, APPEND = 02000,
  CLOSE_ON_EXEC = 02000000, EMPTY_PATH = 0x1000
};
enum { LONGEST = 4096, HASHES = 1 << 15, TICK = 20000000 };
#define NEXT ((void *)-1L)
#define errno (*__errno_location())

struct statx_time { long long seconds; unsigned nanoseconds; int spare; };
struct statx_state {
  unsigned mask, block;
  unsigned long long attributes;
  unsigned links, user, group;
  unsigned short mode, spare;
  unsigned long long inode, size, blocks, attributes_mask;
  struct statx_time accessed, born, changed, modified;
  unsigned long long rest[16];
};

static char log_path[LONGEST];
static const char *ignored;
static unsigned long long hashes[HASHES];

static size_t length(const char *text) { size_t n = 0; while (text[n]) n++; return n; }

static char *put(char *to, const char *text) { while (*text) *to++ = *text++; return to; }

static char *number(char *to, unsigned long long value) {
  char digits[24]; int n = 0;
  do digits[n++] = '0' + value % 10; while (value /= 10);
  while (n) *to++ = digits[--n];
  return to;
}

static int is_ignored(const char *path) {
  for (const char *folder = ignored; folder && *folder;) {
    size_t n = 0;
    while (folder[n] && folder[n] != '\n' && path[n] == folder[n]) n++;
    if ((!folder[n] || folder[n] == '\n') && (!path[n] || path[n] == '/')) return 1;
    while (*folder && *folder != '\n') folder++;
    if (*folder) folder++;
  }
  return 0;
}

/* Whether this kind of access to a path is new in this process. */
static int is_new(char kind, const char *path) {
  unsigned long long hash = 1469598103934665603ull ^ (unsigned char)kind;
  for (const char *at = path; *at; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211ull;
  hash |= 1;
  for (unsigned i = 0, slot = hash % HASHES; i < 64; i++, slot = (slot + 1) % HASHES) {
    if (hashes[slot] == hash) return 0;
    if (!hashes[slot]) { hashes[slot] = hash; return 1; }
  }
  return 1;
}

/* The absolute path of `path` relative to an open folder. Returns 0 if it is too long or absent. */
static int absolute(char *to, int folder, const char *path) {
  size_t n = 0, more = length(path);
  if (*path != '/') {
    if (folder == CWD) {
      long got = syscall(SYS_GETCWD, to, LONGEST);
      if (got <= 0) return 0;
      n = got - 1;
    } else {
      char link[32]; *number(put(link, "/proc/self/fd/"), (unsigned)folder) = 0;
      long got = syscall(SYS_READLINKAT, CWD, link, to, LONGEST - 1);
      if (got <= 0 || *to != '/') return 0;
      n = got;
    }
    to[n++] = '/';
  }
  if (n + more >= LONGEST) return 0;
  put(to + n, path);
  to[n + more] = 0;
  return 1;
}

static unsigned long long nanoseconds(const struct statx_time *time) {
  return time->seconds * 1000000000ull + time->nanoseconds;
}

static void read_state(int file, const char *target, struct statx_state *state) {
  if (file >= 0) syscall(SYS_STATX, file, "", EMPTY_PATH, 0x7ff, state);
  else syscall(SYS_STATX, CWD, target, 0, 0x7ff, state);
}

static int is_fresh(const struct statx_state *state) {
  long long now[2];
  syscall(SYS_CLOCK_GETTIME, 0, now);
  return now[0] * 1000000000ull + now[1] - nanoseconds(&state->changed) < TICK;
}

static void record(char kind, int error, const struct statx_state *state, const char *path) {
  char line[LONGEST + 128], *to = line;
  *to++ = kind; *to++ = ' ';
  to = number(to, error); *to++ = ' ';
  to = number(to, state->mode >> 12); *to++ = ' ';
  to = number(to, state->inode); *to++ = ' ';
  to = number(to, state->size); *to++ = ' ';
  to = number(to, nanoseconds(&state->modified)); *to++ = ' ';
  to = number(to, nanoseconds(&state->changed)); *to++ = ' ';
  to = put(to, path); *to++ = 0;
  /* Opened each time: programs close unknown descriptors and reuse their numbers. */
  int flags = WRONLY | CREATE | APPEND | CLOSE_ON_EXEC;
  long log_file = syscall(SYS_OPENAT, CWD, log_path, flags, 0600);
  if (log_file < 0) return;
  syscall(SYS_WRITE, log_file, line, to - line);
  syscall(SYS_CLOSE, log_file);
}

/* Record an access after the call, and keep its errno. `file` is the opened descriptor, or -1. */
static void observe(char kind, int folder, const char *path, int error, int file) {
  char target[LONGEST]; int before = errno;
  struct statx_state state = {0};
  if (*log_path && path && *path && absolute(target, folder, path) && !is_ignored(target) &&
      (kind == 'l' || is_new(kind, target))) {
    if (!error) read_state(file, target, &state);
    for (int i = 0; (kind == 'r' || kind == 'p') && !error && is_fresh(&state) && i < 100; i++) {
      long long pause[2] = {0, TICK};
      syscall(SYS_NANOSLEEP, pause, 0);
      read_state(file, target, &state);
    }
    record(kind, error, &state, target);
  }
  errno = before;
}

static void record_process(char kind, long id, const char *path) {
  struct statx_state state = {0}; int before = errno;
  state.inode = id;
  if (*log_path) record(kind, 0, &state, path);
  errno = before;
}

__attribute__((constructor)) static void begin(void) {
  const char *variable = getenv("WEBKILN_OBSERVER");
  char path[LONGEST]; size_t n = 0;
  if (!variable) return;
  while (variable[n] && variable[n] != '\n' && n < LONGEST - 1) {
    log_path[n] = variable[n];
    n++;
  }
  ignored = variable[n] ? variable + n + 1 : "";
  long got = syscall(SYS_READLINKAT, CWD, "/proc/self/exe", path, LONGEST - 1);
  path[got > 0 ? got : 0] = 0;
  record_process('x', syscall(SYS_GETPID), path);
}

#define REAL(result, name, ...) \
  static result (*real)(__VA_ARGS__); \
  if (!real) real = (result (*)(__VA_ARGS__))dlsym(NEXT, #name);

static char kind_of(int flags) { return flags & (WRONLY | TRUNCATE) ? 'w' : 'r'; }

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    va_list rest; \
    __builtin_va_start(rest, flags); \
    unsigned mode = __builtin_va_arg(rest, unsigned); \
    __builtin_va_end(rest); \
    REAL(int, name, const char *, int, ...) \
    int file = real(path, flags, mode); \
    observe(kind_of(flags), CWD, path, file < 0 ? errno : 0, file); \
    return file; \
  }
#define OPENAT(name) \
  int name(int folder, const char *path, int flags, ...) { \
    va_list rest; \
    __builtin_va_start(rest, flags); \
    unsigned mode = __builtin_va_arg(rest, unsigned); \
    __builtin_va_end(rest); \
    REAL(int, name, int, const char *, int, ...) \
    int file = real(folder, path, flags, mode); \
    observe(kind_of(flags), folder, path, file < 0 ? errno : 0, file); \
    return file; \
  }
#define OPEN_2(name) \
  int name(const char *path, int flags) { \
    REAL(int, name, const char *, int) \
    int file = real(path, flags); \
    observe(kind_of(flags), CWD, path, file < 0 ? errno : 0, file); \
    return file; \
  }
#define OPENAT_2(name) \
  int name(int folder, const char *path, int flags) { \
    REAL(int, name, int, const char *, int) \
    int file = real(folder, path, flags); \
    observe(kind_of(flags), folder, path, file < 0 ? errno : 0, file); \
    return file; \
  }
OPEN(open) OPEN(open64) OPENAT(openat) OPENAT(openat64)
OPEN_2(__open_2) OPEN_2(__open64_2) OPENAT_2(__openat_2) OPENAT_2(__openat64_2)

#define FOPEN(name) \
  void *name(const char *path, const char *mode) { \
    REAL(void *, name, const char *, const char *) \
    void *file = real(path, mode); \
    observe(*mode == 'r' ? 'r' : 'w', CWD, path, file ? 0 : errno, -1); \
    return file; \
  }
FOPEN(fopen) FOPEN(fopen64)

#define FREOPEN(name) \
  void *name(const char *path, const char *mode, void *before) { \
    REAL(void *, name, const char *, const char *, void *) \
    void *file = real(path, mode, before); \
    observe(*mode == 'r' ? 'r' : 'w', CWD, path, file ? 0 : errno, -1); \
    return file; \
  }
FREOPEN(freopen) FREOPEN(freopen64)

void *opendir(const char *path) {
  REAL(void *, opendir, const char *)
  void *folder = real(path);
  observe('l', CWD, path, folder ? 0 : errno, -1);
  return folder;
}

void *fdopendir(int file) {
  REAL(void *, fdopendir, int)
  char link[32], path[LONGEST]; *number(put(link, "/proc/self/fd/"), (unsigned)file) = 0;
  long got = syscall(SYS_READLINKAT, CWD, link, path, LONGEST - 1);
  void *folder = real(file);
  if (got > 0) { path[got] = 0; observe('l', CWD, path, folder ? 0 : errno, -1); }
  return folder;
}

#define SCANDIR(name) \
  int name(const char *path, void *list, void *filter, void *compare) { \
    REAL(int, name, const char *, void *, void *, void *) \
    int count = real(path, list, filter, compare); \
    observe('l', CWD, path, count < 0 ? errno : 0, -1); \
    return count; \
  }
SCANDIR(scandir) SCANDIR(scandir64)

#define STAT(name) \
  int name(const char *path, void *state) { \
    REAL(int, name, const char *, void *) \
    int result = real(path, state); \
    observe('s', CWD, path, result < 0 ? errno : 0, -1); \
    return result; \
  }
STAT(stat) STAT(stat64) STAT(lstat) STAT(lstat64)

#define XSTAT(name) \
  int name(int version, const char *path, void *state) { \
    REAL(int, name, int, const char *, void *) \
    int result = real(version, path, state); \
    observe('s', CWD, path, result < 0 ? errno : 0, -1); \
    return result; \
  }
XSTAT(__xstat) XSTAT(__xstat64) XSTAT(__lxstat) XSTAT(__lxstat64)

#define STATAT(name) \
  int name(int folder, const char *path, void *state, int flags) { \
    REAL(int, name, int, const char *, void *, int) \
    int result = real(folder, path, state, flags); \
    observe('s', folder, path, result < 0 ? errno : 0, -1); \
    return result; \
  }
STATAT(fstatat) STATAT(fstatat64)

int statx(int folder, const char *path, int flags, unsigned mask, void *state) {
  REAL(int, statx, int, const char *, int, unsigned, void *)
  int result = real(folder, path, flags, mask, state);
  observe('s', folder, path, result < 0 ? errno : 0, -1);
  return result;
}

int access(const char *path, int mode) {
  REAL(int, access, const char *, int)
  int result = real(path, mode);
  observe('s', CWD, path, result < 0 ? errno : 0, -1);
  return result;
}

int faccessat(int folder, const char *path, int mode, int flags) {
  REAL(int, faccessat, int, const char *, int, int)
  int result = real(folder, path, mode, flags);
  observe('s', folder, path, result < 0 ? errno : 0, -1);
  return result;
}

char *realpath(const char *path, char *to) {
  REAL(char *, realpath, const char *, char *)
  char *found = real(path, to);
  observe('s', CWD, path, found ? 0 : errno, -1);
  return found;
}

#define MOVE(name) \
  int name(const char *from, const char *to) { \
    REAL(int, name, const char *, const char *) \
    observe('r', CWD, from, 0, -1); \
    int result = real(from, to); \
    if (!result) observe('w', CWD, to, 0, -1); \
    return result; \
  }
MOVE(rename) MOVE(link)

static int starts_with(const char *text, const char *beginning) {
  while (*beginning) if (*text++ != *beginning++) return 0;
  return 1;
}

/* The environment of a program, with the variables of the observer if they are missing. `to` has
   room for three more entries. */
static char *const *with_observer(char *const *environment, char **to) {
  static const char *names[] = {"LD_PRELOAD=", "WEBKILN_OBSERVER="};
  int n = 0;
  if (!*log_path) return environment;
  for (; environment && environment[n]; n++) to[n] = environment[n];
  for (int i = 0; i < 2; i++) {
    int has = 0;
    for (int j = 0; j < n; j++) has |= starts_with(to[j], names[i]);
    for (char **own = environ; !has && own && *own; own++) {
      if (starts_with(*own, names[i])) { to[n++] = *own; break; }
    }
  }
  to[n] = 0;
  return to;
}

static int count(char *const *list) { int n = 0; while (list && list[n]) n++; return n; }

int execve(const char *path, char *const *arguments, char *const *environment) {
  REAL(int, execve, const char *, char *const *, char *const *)
  char *room[count(environment) + 3];
  struct statx_state state;
  if (syscall(SYS_STATX, CWD, path, 0, 0x7ff, &state) == 0) {
    observe('p', CWD, path, 0, -1);
    record_process('e', syscall(SYS_GETPID), path);
  }
  return real(path, arguments, with_observer(environment, room));
}

int execv(const char *path, char *const *arguments) { return execve(path, arguments, environ); }

#define SPAWN(name) \
  int name(int *id, const char *path, const void *actions, const void *attributes, \
           char *const *arguments, char *const *environment) { \
    REAL(int, name, int *, const char *, const void *, const void *, char *const *, \
         char *const *) \
    char *room[count(environment) + 3]; int own = 0; \
    observe('p', CWD, path, 0, -1); \
    char *const *variables = with_observer(environment, room); \
    int result = real(id ? id : &own, path, actions, attributes, arguments, variables); \
    if (!result) record_process('e', id ? *id : own, path); \
    return result; \
  }
SPAWN(posix_spawn) SPAWN(posix_spawnp)
