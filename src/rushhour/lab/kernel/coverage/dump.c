/*
 * What the kernel executed, written when it ends.
 *
 * The covered objects count in plain memory, and the compiler lists their counters in a section of the image
 * (-fprofile-info-section), so nothing is called before the kernel's end: not one system call more happens in the run, and
 * virtual time sees nothing. When the kernel's process leaves main(), the experiment over and the guest's processes gone, the
 * compiler's own library turns each object's counters into the file that its gcov reads (.gcda), and all of them go into
 * one file: of each object u32 bytes of its name, u32 bytes of its data, name, data.
 */
#include <fcntl.h>
#include <gcov.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define FILE_NAME "out/coverage"
#define MAGIC "RUSHCOV1"

extern const struct gcov_info *const __start_rushhour_coverage[];
extern const struct gcov_info *const __stop_rushhour_coverage[];

/* Named by the counters of each object, for a library that would add them to a file; there is none here. */
void __gcov_merge_add(void);

void __gcov_merge_add(void)
{
}

/* One object on its way: gone through twice, to count its bytes and to write them. */
struct object {
	int file;
	int writes;
	char name[256];
	uint32_t bytes;
};

static pid_t kernel;
static char waiting[1 << 16];
static size_t used;
static int failed;

static void flush(int file)
{
	size_t done = 0;

	while (done < used && !failed) {
		ssize_t written = write(file, waiting + done, used - done);

		if (written <= 0)
			failed = 1;
		else
			done += written;
	}
	used = 0;
}

static void put(int file, const void *data, size_t bytes)
{
	const char *from = data;

	while (bytes) {
		size_t part = sizeof(waiting) - used;

		if (part > bytes)
			part = bytes;
		memcpy(waiting + used, from, part);
		used += part;
		from += part;
		bytes -= part;
		if (used == sizeof(waiting))
			flush(file);
	}
}

static void on_name(const char *name, void *argument)
{
	struct object *object = argument;

	strncpy(object->name, name, sizeof(object->name) - 1);
}

static void on_data(const void *data, unsigned int bytes, void *argument)
{
	struct object *object = argument;

	if (object->writes)
		put(object->file, data, bytes);
	else
		object->bytes += bytes;
}

/* Only for kinds of counters that are not asked for. */
static void *no_memory(unsigned int bytes, void *argument)
{
	(void)bytes;
	(void)argument;
	return NULL;
}

static void write_object(const struct gcov_info *info, int file)
{
	struct object object = { .file = file };
	uint32_t length;

	__gcov_info_to_gcda(info, on_name, on_data, no_memory, &object);
	length = strlen(object.name);
	put(file, &length, sizeof(length));
	put(file, &object.bytes, sizeof(object.bytes));
	put(file, object.name, length);
	object.writes = 1;
	__gcov_info_to_gcda(info, on_name, on_data, no_memory, &object);
}

/* Before main() the kernel makes no processes; those by which it tries at boot what its host can do leave main(), too. */
__attribute__((constructor)) static void remember_process(void)
{
	kernel = getpid();
}

/* Where a folder `out` is, is a run; elsewhere nobody asks. */
__attribute__((destructor)) static void write_coverage(void)
{
	int file;

	if (getpid() != kernel)
		return;
	file = open(FILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0)
		return;
	put(file, MAGIC, sizeof(MAGIC) - 1);
	for (const struct gcov_info *const *info = __start_rushhour_coverage; info < __stop_rushhour_coverage; info++)
		write_object(*info, file);
	flush(file);
	close(file);
	if (failed)
		unlink(FILE_NAME);
}
