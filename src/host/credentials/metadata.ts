import { type Address, addressText, parseAddress } from '../../core/net/address.ts';
import { literalAddress } from '../../core/net/address-class.ts';
import { isLoopbackHost } from '../../core/net/loopback.ts';
import { callHost, type HostLookup, type HostRequest, OutboundError, type OutboundReply } from '../outbound.ts';

/**
 * The documented addresses of services that give credentials to the machine or container: of machines at AWS, Azure and Google, of ECS, and
 * of EKS Pod Identity.
 */
const SERVICES: ReadonlySet<string> = new Set(
  ['169.254.169.254', '169.254.170.2', '169.254.170.23', 'fd00:ec2::254', 'fd00:ec2::23'].map((text) =>
    addressText(parseAddress(text)!),
  ),
);
const GOOGLE = 'metadata.google.internal';

const isLoopback = (address: Address): boolean => {
  const text = addressText(address);
  return isLoopbackHost(text.includes(':') ? `[${text}]` : text);
};

/**
 * Calls a metadata service of this machine or container, which `outbound` refuses. Only token sources use it, for addresses that are fixed or
 * in variables of the process, never for an address of a policy.
 * @throws OutboundError
 */
export async function callMetadata(request: HostRequest, lookup?: HostLookup): Promise<OutboundReply> {
  const url = URL.parse(request.url);
  const literal = url && literalAddress(url.hostname);
  const isService = literal !== null && SERVICES.has(addressText(literal));
  if (url?.protocol !== 'http:' || !(isService || url.hostname === GOOGLE || isLoopbackHost(url.hostname)))
    throw new OutboundError('refused', `\`${url?.hostname ?? ''}\` is no documented address of a metadata service`);
  const isAllowed = (address: Address): boolean =>
    isLoopbackHost(url.hostname) ? isLoopback(address) : SERVICES.has(addressText(address));
  return callHost(request, isAllowed, lookup);
}
