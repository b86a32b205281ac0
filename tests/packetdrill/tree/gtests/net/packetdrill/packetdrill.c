/* What the tests build in packetdrill's stead: it is in no package, and none of it is here.
 *
 * A script's lines are "+SECONDS > udp (BYTES)": so many bytes leave by tun0, so long after the line before. Behind "//" may
 * stand what another kernel does, by the begin of its release: "// 6.12: 0.02" (so much later), "// 6.12: fail".
 * "0 close(FILE) = ANSWER" is as in packetdrill.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "below/name.h"
#include "part.h"

static struct sockaddr_in address(const char *text)
{
	struct sockaddr_in made = { .sin_family = AF_INET, .sin_port = htons(9) };

	inet_pton(AF_INET, text, &made.sin_addr);
	return made;
}

static void device(int socket)
{
	struct ifreq asked = { .ifr_name = TUNNEL, .ifr_flags = IFF_TUN | IFF_NO_PI };
	struct sockaddr_in own = address("192.168.0.1");

	if (ioctl(open("/dev/net/tun", O_RDWR), TUNSETIFF, &asked) < 0)
		exit(9);
	memcpy(&asked.ifr_addr, &own, sizeof(own));
	ioctl(socket, SIOCSIFADDR, &asked);
	asked.ifr_flags = IFF_UP | IFF_RUNNING;
	ioctl(socket, SIOCSIFFLAGS, &asked);
	if (system("ip route add 192.0.2.0/24 dev tun0"))
		exit(8);
}

static void await(double seconds)
{
	struct timespec span = { (time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9) };

	nanosleep(&span, NULL);
}

int main(int count, char **words)
{
	int verbose = 0, socket_ = socket(AF_INET, SOCK_DGRAM, 0), number = 0;
	struct sockaddr_in there = address("192.0.2.1");
	const char *name = words[count - 1];
	static char line[256], bytes[1 << 16];
	struct utsname kernel;
	double now = 0;
	FILE *script = fopen(name, "r");

	for (int i = 1; i < count; i++)
		verbose |= !strcmp(words[i], "--verbose");
	uname(&kernel);
	device(socket_);
	while (fgets(line, sizeof(line), script)) {
		char *other = strstr(line, "// "), *said = other ? strstr(other, ": ") : NULL;
		int size, file, wanted;
		double after;

		number++;
		if (sscanf(line, " 0 close(%d) = %d", &file, &wanted) == 2 && close(file) != wanted) {
			printf("%s:%d: runtime error in close call: Expected result %d but got -1 with errno %d (%s)\n",
			       name, number, wanted, errno, strerror(errno));
			return 1;
		}
		if (sscanf(line, " +%lf > udp (%d)", &after, &size) != 2)
			continue;
		if (said && !strncmp(kernel.release, other + 3, said - other - 3)) {
			if (!strncmp(said + 2, "fail", 4)) {
				printf("%s:%d: error handling packet: timing error: %s\n", name, number, PART);
				return 1;
			}
			after += atof(said + 2);
		}
		await(after);
		now += after;
		if (verbose)
			printf("outbound sniffed packet: %9.6f udp (%d)\n", now, size);
		sendto(socket_, bytes, size, 0, (struct sockaddr *)&there, sizeof(there));
	}
	return 0;
}
