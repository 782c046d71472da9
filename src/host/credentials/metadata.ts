import { type Address, addressText, parseAddress } from '../../core/net/address.ts';
import { literalAddress } from '../../core/net/address-class.ts';
import { isLoopbackHost } from '../../core/net/loopback.ts';
import { callHost, type HostLookup, type HostRequest, type OutboundReply } from '../outbound.ts';

/**
 * The documented addresses of services that give credentials to the machine or container: of machines at AWS, Azure and Google, of ECS, and
 * of EKS Pod Identity. Machines of Google with IPv6 only have `fd20:ce::254`.
 */
const SERVICES: ReadonlySet<string> = new Set(
  ['169.254.169.254', '169.254.170.2', '169.254.170.23', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254'].map((text) =>
    addressText(parseAddress(text)!),
  ),
);
const GOOGLE = 'metadata.google.internal';

const isLoopback = (address: Address): boolean => {
  const text = addressText(address);
  return isLoopbackHost(text.includes(':') ? `[${text}]` : text);
};

/**
 * Whether a URL is a documented address of a metadata service, or on this machine.
 * @param address to which its host name resolves
 */
export function isMetadata({ protocol, hostname }: URL, address: Address): boolean {
  if (protocol !== 'http:') return false;
  if (isLoopbackHost(hostname)) return isLoopback(address);
  return (hostname === GOOGLE || literalAddress(hostname) !== null) && SERVICES.has(addressText(address));
}

/**
 * Calls a metadata service of this machine or container, which `outbound` refuses. Only token sources use it, for addresses that are fixed or
 * in variables of the process, never for an address of a policy.
 * @throws OutboundError
 */
export async function callMetadata(request: HostRequest, lookup?: HostLookup): Promise<OutboundReply> {
  const url = URL.parse(request.url);
  return callHost(request, (address) => url !== null && isMetadata(url, address), lookup);
}
