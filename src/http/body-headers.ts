import { SignalboxError } from '../core/errors.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { FundingSource } from '../gateway/money/funding.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';
import { tooLarge } from './body-reading.ts';
import { BODY_BYTES_MAX, type RouteRule } from './route-table.ts';

const JSON_TYPE = /^application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

const TAKES_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

type BodyPolicy = Pick<PolicySnapshot, 'gateway' | 'payments'>;

/**
 * Checks the headers of a body against its route, and notes its bytes.
 * @param isKeyless whether its sender has no key, on a route that is not open
 * @returns whether the route reads it
 * @throws SignalboxError
 */
export function checkBody(
  headers: Headers,
  context: RequestContext,
  rule: RouteRule,
  policy: BodyPolicy,
  { keyless }: Pick<FundingSource, 'keyless'>,
  isKeyless: boolean,
): boolean {
  const { body = BODY_BYTES_MAX } = rule;
  const { method } = context;
  const { bodyBytesMax: most } = policy.gateway;
  const isRead = TAKES_BODY.has(method) && body !== 'none';
  const ofRoute = !isRead ? BODY_BYTES_MAX : body === 'policy' ? most : Math.min(body, most);
  context.bodyBytesMax = isKeyless ? Math.min(keyless.bodyBytesMax(policy), ofRoute) : ofRoute;
  context.bodyBytes = Number(headers.get('content-length') ?? 0);
  if (isRead) checkBodyHeaders(headers);
  if (context.bodyBytes > context.bodyBytesMax) throw tooLarge(context.bodyBytesMax);
  if (headers.has('transfer-encoding') && (isKeyless || needsLength(rule))) {
    throw new SignalboxError('length_required', 'Send the header content-length in place of transfer-encoding.');
  }
  return isRead;
}

/**
 * Whether a body of unknown length is refused before its first byte: by the time a handler reads it, the server holds more than 1 MiB.
 * Applications may send such bodies to models, and operators to the tools of policies, which count them in their room.
 */
const needsLength = ({ body, access, path }: RouteRule): boolean =>
  body !== 'policy' && (access === 'open' || path.startsWith('/admin/'));

function checkBodyHeaders(headers: Headers): void {
  const type = headers.get('content-type') ?? '';
  if (!JSON_TYPE.test(type)) {
    throw new SignalboxError('unsupported_media_type', 'Send the header content-type: application/json, in UTF-8.');
  }
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding !== 'identity') {
    throw new SignalboxError('unsupported_media_type', 'Send the body as it is, without content-encoding.');
  }
}
