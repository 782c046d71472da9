import type { IssuerKeys, KeySet } from '../../core/people/token-issuer.ts';
import { type ExpressionDraft, expressionAt } from '../check/expression-drafts.ts';
import type { NamedItem } from '../check/section-checks.ts';
import { ADDRESS, normalUrl, OF_ISSUER, refuseForbidden, reviewPrivateHost } from '../providers/addresses.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { entryOf, placeAt, toData, valueAt } from '../yaml/tree.ts';
import { KEY_PLACES, type TokenIssuerText } from './tokens-schema.ts';

/** An issuer whose expressions, and whose keys in an environment variable, are not checked yet. */
export type IssuerDraft = ReturnType<typeof draftIssuer>;

/** Checks the issuers of tokens. Each `iss` may occur only once in a policy, so that a token has one set of terms. */
export function draftIssuers(items: readonly NamedItem<TokenIssuerText>[], report: Report): IssuerDraft[] {
  const issuers = new Map<string, SourceSpan>();
  return items.map((named) => {
    const draft = draftIssuer(named, report);
    const { issuer } = draft.data ?? {};
    if (issuer !== undefined) report.isFirst(issuer, placeAt(named.tree, 'issuer'), issuers, issuer);
    return draft;
  });
}

function draftIssuer(named: NamedItem<TokenIssuerText>, report: Report) {
  const { path, tree, data, name } = named;
  const stated = KEY_PLACES.filter((key) => valueAt(tree, key) !== undefined);
  const [, second] = stated;
  if (second !== undefined) {
    report.add('conflicting-keys', placeAt(tree, second), `\`${path}\` states its keys twice`, {
      expected: `one of ${stated.map((key) => `\`${key}\``).join(' and ')}`,
    });
  }
  const set = data?.jwks ?? null;
  if (set) checkKeySet(set, `${path}.jwks`, placeAt(tree, 'jwks'), report);
  return {
    name,
    data,
    path,
    /** Location of the variable that holds the issuer's keys. */
    variablePlace: placeAt(tree, 'jwks_env'),
    modelPlaces: (data?.models ?? []).map((model, at) => ({ name: model, place: placeAt(tree, 'models', at) })),
    keys: data && keysOf(named, data, report),
    when: expressionAt(named, 'when'),
    admin: expressionAt(named, 'admin'),
    team: expressionAt(named, 'team'),
    labels: labelsAt(named),
    outline: JSON.stringify(toData(tree)),
  };
}

function labelsAt(named: NamedItem<TokenIssuerText>): (readonly [string, ExpressionDraft])[] {
  const labels = entryOf(named.tree, 'labels')?.value;
  if (labels?.kind !== 'map') return [];
  return labels.entries.flatMap(({ key }) => {
    const draft = expressionAt(named, 'labels', key);
    return draft ? [[key, draft] as const] : [];
  });
}

/** `keysOf` returns null if the URL of the keys is wrong. */
function keysOf({ tree, path }: NamedItem<TokenIssuerText>, text: TokenIssuerText, report: Report): IssuerKeys | null {
  const { issuer, jwks, jwks_url: url, jwks_env: variable, allow_private_network: allowPrivate } = text;
  if (jwks) return { from: 'policy', set: jwks };
  if (variable !== undefined) return { from: 'policy', set: null };
  const key = url === undefined ? 'issuer' : 'jwks_url';
  const at = { what: `\`${path}.${key}\``, place: placeAt(tree, key), allowPrivate };
  const checked = addressOfKeys(url ?? issuer, at, report);
  if (checked === null) return null;
  return url === undefined
    ? { from: 'discovery', url: `${checked}/.well-known/openid-configuration`, allowPrivate }
    : { from: 'url', url, allowPrivate };
}

interface KeyAddress {
  readonly what: string;
  readonly place: SourceSpan;
  readonly allowPrivate: boolean;
}

/** Returns the URL without a slash at its end; null for a URL from which keys cannot be read. */
function addressOfKeys(text: string, { what, place, allowPrivate }: KeyAddress, report: Report): string | null {
  const url = normalUrl(text);
  if (url === null) {
    report.add('bad-form', place, `${what} is not a URL from which keys can be read`, {
      ...ADDRESS,
      hint: 'if the issuer has no URL, state its keys in `jwks`, `jwks_env` or `jwks_url`',
    });
    return null;
  }
  refuseForbidden(url, what, place, report);
  if (url.startsWith('http:') && !isThisMachine(url)) {
    report.add(
      'bad-form',
      place,
      `${what} would be read without encryption, so anyone on the network could sign tokens`,
      {
        expected: 'https://',
      },
    );
  }
  if (!allowPrivate) reviewPrivateHost(url, what, place, OF_ISSUER, report);
  return url;
}

const isThisMachine = (url: string): boolean => /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(new URL(url).hostname);

const PUBLIC_KINDS: readonly unknown[] = ['RSA', 'EC', 'OKP'];

/** Reports the first key of a set that cannot be used. @returns whether all keys can be used */
export function checkKeySet({ keys }: KeySet, what: string, place: SourceSpan, report: Report): boolean {
  for (const [at, { kty, d }] of keys.entries()) {
    if (d !== undefined) {
      report.add('secret', place, `\`${what}\` contains a private key: anyone who reads it can sign tokens`, {
        hint: 'replace the key at its issuer, and state only the public key',
      });
      return false;
    }
    if (PUBLIC_KINDS.includes(kty)) continue;
    const message = `key ${at + 1} of \`${what}\` has a type with which tokens cannot be signed here`;
    report.add('bad-form', place, message, { expected: '`kty` of RSA, EC or OKP' });
    return false;
  }
  return true;
}
