//! An event's layout, as its `format` file tells it, and the row we keep of it.

use std::net::IpAddr;

use crate::plan::FIRST_PORT;
use crate::reading::found::{End, Way};

/// `struct sockaddr_in6`, which has room for either kind.
const SOCKADDR: usize = 28;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    name: String,
    kind: String,
    offset: usize,
    size: usize,
    signed: bool,
}

/// All fields of an event.
#[derive(Debug)]
pub struct Fields {
    pub id: u16,
    fields: Vec<Field>,
}

/// Where an event names the two ends that it is of.
#[derive(Debug)]
pub struct Ends {
    ports_at: [usize; 2],
    /// Of the one from which it goes, then of the other; an address of IPv6, or a `sockaddr` of either kind.
    addresses_at: [(usize, usize); 2],
}

/// Which bytes of an event are kept, and as what.
#[derive(Debug)]
pub struct Format {
    pub id: u16,
    /// Bytes an event has at least.
    pub size: usize,
    /// Where the ports of sender and receiver are.
    ports_at: [usize; 2],
    /// Where the receiver's addresses are, and how many bytes each has.
    to_at: Vec<(usize, usize)>,
    ends: Option<Ends>,
    /// Where the first byte that is not acknowledged is told, and the next to be sent.
    in_flight_at: Option<[usize; 2]>,
    kept: Vec<Field>,
}

fn number<T: std::str::FromStr>(part: &str, key: &str) -> Option<T> {
    part.trim().strip_prefix(key)?.trim().parse().ok()
}

fn field(line: &str) -> Option<Field> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';');
    let declaration = parts.next()?;
    // Kernels before 5.15 print an array's length as it is in the source: saddr[sizeof(struct sockaddr_in6)].
    let (scalar, array) = declaration.split_at(declaration.find('[').unwrap_or(declaration.len()));
    let (kind, name) = scalar.rsplit_once(' ')?;
    Some(Field {
        name: name.to_owned(),
        kind: format!("{kind}{array}"),
        offset: number(parts.next()?, "offset:")?,
        size: number(parts.next()?, "size:")?,
        signed: number::<u8>(parts.next()?, "signed:")? == 1,
    })
}

impl Field {
    /// Pointers differ between machines, addresses and common fields say nothing the flow's number does not.
    fn is_kept(&self) -> bool {
        let pointer = self.kind.contains('*');
        let address = self.name.starts_with("saddr") || self.name.starts_with("daddr");
        !(pointer || address || self.name.starts_with("common_") || self.kind.contains("__data_loc"))
    }

    fn numpy_type(&self) -> String {
        match (self.size, self.signed) {
            (1, false) => "u1".into(),
            (1, true) => "i1".into(),
            (2 | 4 | 8, false) => format!("<u{}", self.size),
            (2 | 4 | 8, true) => format!("<i{}", self.size),
            _ => format!("V{}", self.size),
        }
    }
}

impl Fields {
    /// `None` when the text is no format of an event.
    pub fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| number(line, "ID:"))?;
        Some(Self { id, fields: text.lines().filter_map(field).collect() })
    }

    /// Bytes an event has at least.
    pub fn size(&self) -> Option<usize> {
        self.fields.iter().map(|field| field.offset + field.size).max()
    }

    /// Where the field of this name and size is.
    pub fn at(&self, name: &str, size: usize) -> Option<usize> {
        self.fields.iter().find(|field| field.name == name && field.size == size).map(|field| field.offset)
    }

    pub fn ends(&self) -> Option<Ends> {
        let address = |plain: &str, six: &str| {
            let at = self.at(six, 16).map(|at| (at, 16));
            at.or_else(|| self.at(plain, SOCKADDR).map(|at| (at, SOCKADDR)))
        };
        let addresses_at = [address("saddr", "saddr_v6")?, address("daddr", "daddr_v6")?];
        Some(Ends { ports_at: [self.at("sport", 2)?, self.at("dport", 2)?], addresses_at })
    }
}

impl Ends {
    /// From which end an event's packets go to which; `None` where the addresses are of neither kind.
    pub fn way(&self, data: &[u8]) -> Option<Way> {
        let [from, to] = [0, 1].map(|end| {
            let port = u16::from_le_bytes(*data.get(self.ports_at[end]..)?.first_chunk()?);
            Some(End::new(address(data, self.addresses_at[end])?, port))
        });
        Some(Way { from: from?, to: to? })
    }
}

fn address(data: &[u8], (at, size): (usize, usize)) -> Option<IpAddr> {
    let v6 = |at: usize| Some(IpAddr::from(*data.get(at..)?.first_chunk::<16>()?));
    if size != SOCKADDR {
        return v6(at);
    }
    match i32::from(u16::from_le_bytes(*data.get(at..)?.first_chunk()?)) {
        libc::AF_INET => Some(IpAddr::from(*data.get(at + 4..)?.first_chunk::<4>()?)),
        libc::AF_INET6 => v6(at + 8),
        _ => None,
    }
}

impl Format {
    /// `None` when the text is no format of an event that has `sport` and `dport`.
    pub fn parse(text: &str) -> Option<Self> {
        let all = Fields::parse(text)?;
        let ports_at = [all.at("sport", 2)?, all.at("dport", 2)?];
        let (size, ends) = (all.size()?, all.ends());
        let in_flight_at = all.at("snd_una", 4).zip(all.at("snd_nxt", 4)).map(<[usize; 2]>::from);
        let Fields { id, fields } = all;
        let to = fields.iter().filter(|field| field.name.starts_with("daddr"));
        let to_at = to.map(|field| (field.offset, field.size)).collect();
        let kept = fields.into_iter().filter(Field::is_kept).collect();
        Some(Self { id, size, ports_at, to_at, ends, in_flight_at, kept })
    }

    /// See [`Ends::way`].
    pub fn way(&self, data: &[u8]) -> Option<Way> {
        self.ends.as_ref()?.way(data)
    }

    /// Whether the end that an event is of has sent what is not acknowledged; `None` where the event does not tell.
    pub fn in_flight(&self, data: &[u8]) -> Option<bool> {
        let [una, nxt] = self.in_flight_at?;
        Some(data.get(una..una + 4)? != data.get(nxt..nxt + 4)?)
    }

    pub fn columns(&self) -> Vec<(&str, String)> {
        let mut columns = vec![("t_ns", "<i8".to_owned()), ("flow", "<u4".to_owned())];
        columns.extend(self.kept.iter().map(|field| (field.name.as_str(), field.numpy_type())));
        columns
    }

    pub fn stride(&self) -> usize {
        12 + self.kept.iter().map(|field| field.size).sum::<usize>()
    }

    /// The flow an event is of, and the port of its sending side; `data` has at least [`Self::size`] bytes.
    pub fn flow(&self, data: &[u8]) -> (u32, u16) {
        let [sender, receiver] = self.ports_at.map(|at| u16::from_le_bytes([data[at], data[at + 1]]));
        (u32::from(receiver.wrapping_sub(FIRST_PORT)), sender)
    }

    /// Whether an event's receiver has this address, which is told as such or within a `sockaddr`.
    pub fn goes_to(&self, data: &[u8], address: IpAddr) -> bool {
        let octets = match address {
            IpAddr::V4(v4) => v4.octets().to_vec(),
            IpAddr::V6(v6) => v6.octets().to_vec(),
        };
        // `sin_addr` and `sin6_addr` in their structures.
        let within = if address.is_ipv4() { 4 } else { 8 };
        self.to_at.iter().any(|(offset, size)| {
            let at = match *size {
                size if size == octets.len() => *offset,
                SOCKADDR => offset + within,
                _ => return false,
            };
            data.get(at..at + octets.len()) == Some(&octets)
        })
    }

    /// Appends one row; `data` has at least [`Self::size`] bytes.
    pub fn append(&self, t_ns: i64, flow: u32, data: &[u8], row: &mut Vec<u8>) {
        row.extend(t_ns.to_le_bytes());
        row.extend(flow.to_le_bytes());
        for field in &self.kept {
            row.extend(&data[field.offset..field.offset + field.size]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name: tcp_probe\nID: 1203\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:__u8 saddr[28];\toffset:8;\tsize:26;\tsigned:0;\n\
        \tfield:__u16 sport;\toffset:34;\tsize:2;\tsigned:0;\n\
        \tfield:__u16 dport;\toffset:36;\tsize:2;\tsigned:0;\n\
        \tfield:__u32 snd_cwnd;\toffset:40;\tsize:4;\tsigned:0;\n\
        \tfield:const void * skaddr;\toffset:48;\tsize:8;\tsigned:0;\n\n\
        print fmt: \"x\"\n";

    #[test]
    fn keeps_what_says_something() {
        let format = Format::parse(TEXT).expect("a format");
        let names: Vec<_> =
            format.columns().into_iter().map(|(name, kind)| format!("{name}:{kind}")).collect();
        assert_eq!(names, ["t_ns:<i8", "flow:<u4", "sport:<u2", "dport:<u2", "snd_cwnd:<u4"]);
        assert_eq!((format.id, format.size, format.stride()), (1203, 56, 20));
    }

    #[test]
    fn an_array_may_name_its_length_in_words() {
        let text = TEXT.replace("saddr[28]", "saddr[sizeof(struct sockaddr_in6)]");
        let (plain, worded) =
            (Format::parse(TEXT).expect("a format"), Format::parse(&text).expect("a format"));
        assert_eq!(plain.columns(), worded.columns());
    }

    #[test]
    fn a_row_names_the_flow_by_its_port() {
        let format = Format::parse(TEXT).expect("a format");
        let mut data = vec![0; 56];
        data[34..36].copy_from_slice(&33_003u16.to_le_bytes());
        data[36..38].copy_from_slice(&(FIRST_PORT + 3).to_le_bytes());
        data[40..44].copy_from_slice(&10u32.to_le_bytes());
        assert_eq!(format.flow(&data), (3, 33_003));
        let mut row = Vec::new();
        format.append(-1, format.flow(&data).0, &data, &mut row);
        assert_eq!(row.len(), format.stride());
        assert_eq!(row[..12], [255, 255, 255, 255, 255, 255, 255, 255, 3, 0, 0, 0]);
        assert_eq!(row[16..], [10, 0, 0, 0]);
    }

    #[test]
    fn the_receivers_address_is_found_in_either_form() {
        let text = TEXT.replace(
            "print fmt",
            "\tfield:__u8 daddr[28];\toffset:56;\tsize:28;\tsigned:0;\n\
            \tfield:__u8 daddr_v6[16];\toffset:84;\tsize:16;\tsigned:0;\nprint fmt",
        );
        let format = Format::parse(&text).expect("a format");
        let (v4, v6) = (IpAddr::from([10, 0, 0, 2]), IpAddr::from([7; 16]));
        let mut data = vec![0; 100];
        assert!(!format.goes_to(&data, v4) && !format.goes_to(&data, v6));
        data[60..64].copy_from_slice(&[10, 0, 0, 2]);
        data[84..100].copy_from_slice(&[7; 16]);
        assert!(format.goes_to(&data, v4) && format.goes_to(&data, v6));
        assert!(!format.goes_to(&data[..50], v4));
    }

    #[test]
    fn another_format_is_refused() {
        assert!(Format::parse("ID: 4\n\tfield:int x;\toffset:0;\tsize:4;\tsigned:1;\n").is_none());
    }
}
