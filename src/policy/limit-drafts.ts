import { type AddressRange, addressText, isWithin, parseRange, startOf } from '../core/address.ts';
import type { KeyLimits } from '../core/caller.ts';
import type { AdmissionPolicy } from '../core/rate-limit.ts';
import type { SourceSpan } from './diagnostics.ts';
import type { Report } from './report.ts';
import { type ExpressionDraft, expressionAt } from './rule-drafts.ts';
import type { GatewayText } from './schema.ts';
import { RateLimitText } from './schema-limits.ts';
import { type CheckContext, checkList, type NamedItem } from './sections.ts';
import { placeAt, type Tree } from './tree.ts';
import { validPartsOf } from './valid-parts.ts';

/** A rate limit whose expressions are not checked yet. */
export interface RateLimitDraft {
  readonly name: string;
  /** The place of its name. */
  readonly place: SourceSpan;
  readonly match: ExpressionDraft | null;
  readonly each: ExpressionDraft | 'address' | null;
  readonly figures: KeyLimits;
}

/** Checks the rate limits of the policy. */
export function draftRateLimits(context: CheckContext): RateLimitDraft[] {
  return checkList('rate_limits', RateLimitText, context).map((named) => {
    const { name, tree, path, data } = named;
    const place = placeAt(tree, 'name');
    const stated = data ?? validPartsOf(RateLimitText, tree);
    const figures = {
      requestsPerMinute: stated.requests_per_minute ?? null,
      tokensPerMinute: stated.tokens_per_minute ?? null,
      concurrentStreams: stated.concurrent_streams ?? null,
    };
    if (data && Object.values(figures).every((figure) => figure === null)) {
      const keys = '`requests_per_minute`, `tokens_per_minute` or `concurrent_streams`';
      context.report.add('missing-key', place, `\`${path}\` limits nothing: it needs the key ${keys}`);
    }
    return { name, place, match: expressionAt(named, 'match'), each: eachOf(named), figures };
  });
}

/** `key` is short for `key.id`. `address` is not an expression and stands alone. */
function eachOf(named: NamedItem<RateLimitText>): RateLimitDraft['each'] {
  const each = expressionAt(named, 'each');
  const written = each?.text.trim();
  if (written === 'address') return 'address';
  return each && written === 'key' ? { ...each, text: 'key.id' } : each;
}

/** The admission limits. `tree` is the section `gateway`. */
export function readAdmission(text: GatewayText, tree: Tree, report: Report): AdmissionPolicy {
  return {
    trustedProxies: text.trusted_proxies.flatMap((written, at) => {
      const range = rangeAt(written, placeAt(tree, 'trusted_proxies', at), report);
      return range ? [range] : [];
    }),
    concurrencyMax: text.concurrency_max,
    bodiesBytesMax: text.bodies_bytes_max,
    answersBytesMax: text.answers_bytes_max,
    queueMax: text.queue_max,
    queueMs: text.queue_ms,
    failedAuthPerMinute: text.failed_auth_per_minute,
    keylessPerMinute: text.keyless_per_minute,
  };
}

const ANY_IPV4: AddressRange = { base: [0, 0, 0, 0, 0, 0xffff, 0, 0], bits: 96 };

function rangeAt(written: string, place: SourceSpan, report: Report): AddressRange | null {
  const range = parseRange(written);
  if (!range) {
    report.add('bad-form', place, `\`${written}\` is not a range of IP addresses`, {
      expected: 'a range such as `10.0.0.0/8` or `fd00::/8`, or one address',
    });
    return null;
  }
  const base = startOf(range);
  if (!isWithin(range.base, { base, bits: 128 })) {
    const prefix = written.slice(written.indexOf('/'));
    report.add('bad-form', place, `\`${written}\` has bits beyond its first ${prefix.slice(1)}`, {
      hint: `write \`${addressText(base)}${prefix}\`, or the address alone`,
    });
  }
  if (isWithin(ANY_IPV4.base, range) && range.bits <= ANY_IPV4.bits) {
    report.add(
      'trusts-everybody',
      place,
      `\`${written}\` covers all addresses, so Signalbox would trust any address that a caller states`,
      {
        hint: 'list only the ranges of your proxies; otherwise callers can evade limits by address',
      },
    );
  }
  return range;
}
