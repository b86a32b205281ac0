#define TUNNEL "tun0"
