"""Settings of the kernel that bear on transfers, by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.diagnosis.gather.text import Value, value

if TYPE_CHECKING:
    from collections.abc import Mapping

_CORE = """
    rmem_default rmem_max wmem_default wmem_max optmem_max default_qdisc netdev_max_backlog netdev_budget
    netdev_budget_usecs dev_weight busy_poll busy_read rps_sock_flow_entries somaxconn
"""
_IPV4 = """
    tcp_rmem tcp_wmem tcp_mem udp_mem udp_rmem_min udp_wmem_min tcp_moderate_rcvbuf tcp_adv_win_scale
    tcp_app_win tcp_shrink_window tcp_window_scaling tcp_timestamps tcp_sack tcp_dsack tcp_fack tcp_ecn
    tcp_ecn_fallback tcp_congestion_control tcp_available_congestion_control
    tcp_allowed_congestion_control tcp_mtu_probing tcp_base_mss tcp_mtu_probe_floor tcp_min_snd_mss
    tcp_slow_start_after_idle tcp_no_metrics_save tcp_no_ssthresh_metrics_save tcp_notsent_lowat
    tcp_limit_output_bytes tcp_autocorking tcp_tso_win_divisor tcp_min_tso_segs tcp_tso_rtt_log
    tcp_reordering tcp_max_reordering tcp_recovery tcp_early_retrans tcp_frto tcp_fastopen
    tcp_max_syn_backlog tcp_syncookies tcp_pacing_ss_ratio tcp_pacing_ca_ratio tcp_rto_min_us
    tcp_comp_sack_delay_ns tcp_comp_sack_nr tcp_min_rtt_wlen tcp_workaround_signed_windows
    tcp_backlog_ack_defer ip_no_pmtu_disc ip_default_ttl ip_forward ip_forward_use_pmtu ip_local_port_range
    ipfrag_high_thresh fib_multipath_hash_policy route/min_pmtu route/mtu_expires route/min_adv_mss
    conf/all/rp_filter
"""
NAMES = (
    *(f"net.core.{name}" for name in _CORE.split()),
    *(f"net.ipv4.{name}".replace("/", ".") for name in _IPV4.split()),
    "vm.swappiness",
    "vm.min_free_kbytes",
)
OF_DEVICE = ("net.ipv4.conf.{dev}.rp_filter", "net.ipv6.conf.{dev}.mtu")
"""Settings of one device, whose name is put in with a slash for each dot (as `sysctl(8)` has it)."""

_ROOT = "/proc/sys/"


def path(name: str) -> str:
    """The file of a setting; a slash in the name stands for a dot (`net.ipv4.conf.eth0/7.rp_filter`)."""
    return _ROOT + name.translate(str.maketrans("./", "/."))


def section(files: Mapping[str, str]) -> dict[str, Value]:
    """Every setting that was read, by its name."""
    return {
        name[len(_ROOT) :].translate(str.maketrans("./", "/.")): value(text)
        for name, text in sorted(files.items())
        if name.startswith(_ROOT) and "/netfilter/" not in name
    }
