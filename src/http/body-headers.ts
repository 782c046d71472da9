import { SignalboxError } from '../core/errors.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { FundingSource } from '../gateway/money/funding.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';
import { tooLarge } from './kit/body-reading.ts';
import { BODY_BYTES_MAX, type RouteRule } from './kit/route-table.ts';

const JSON_TYPE = /^application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

const TAKES_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

type BodyPolicy = Pick<PolicySnapshot, 'gateway' | 'payments'>;

/**
 * Checks the headers of a body against its route, and stores its size in the context.
 * @param isKeyless whether the sender has no key, on a route that is not open
 * @returns whether the route reads the body
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
  context.body.bytesMax = isKeyless ? Math.min(keyless.bodyBytesMax(policy), ofRoute) : ofRoute;
  context.body.bytes = Number(headers.get('content-length') ?? 0);
  if (isRead) checkBodyHeaders(headers);
  if (context.body.bytes > context.body.bytesMax) throw tooLarge(context.body.bytesMax);
  if (headers.has('transfer-encoding') && (isKeyless || needsLength(rule))) {
    throw new SignalboxError(
      'length_required',
      'The length of the body is not known. Send the header content-length instead of transfer-encoding.',
    );
  }
  return isRead;
}

/**
 * Whether a body of unknown length is refused before its first byte, because the server could hold more than 1 MiB before a handler reads
 * it. Model requests and operators' policy tools may send such bodies; the bytes count against their memory.
 */
const needsLength = ({ body, access, path }: RouteRule): boolean =>
  body !== 'policy' && (access === 'open' || path.startsWith('/admin/'));

function checkBodyHeaders(headers: Headers): void {
  const type = headers.get('content-type') ?? '';
  if (!JSON_TYPE.test(type)) {
    throw new SignalboxError(
      'unsupported_media_type',
      'The content type is not supported. Send the header content-type: application/json, in UTF-8.',
    );
  }
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding !== 'identity') {
    throw new SignalboxError(
      'unsupported_media_type',
      'Compressed bodies are not supported. Send the body without content-encoding.',
    );
  }
}
