import { addressClass, literalAddress } from '../core/address-class.ts';
import type { KeyLimits } from '../core/caller.ts';
import { isObject } from '../core/object.ts';
import type { Claims, IssuerKeys, KeySet, TokenIssuer } from '../core/token-issuer.ts';
import { ADDRESS, normalUrl, refuseForbidden, reviewPrivateName } from './addresses.ts';
import { accessesOf } from './cel-ast.ts';
import type { Program, TextProgram } from './cel-check.ts';
import { claimsViewOf } from './cel-types.ts';
import type { SourceSpan } from './diagnostics.ts';
import { type ExpressionChecker, tryRun } from './expressions.ts';
import type { Environment } from './providers.ts';
import type { Report } from './report.ts';
import { type ExpressionDraft, expressionAt } from './rule-drafts.ts';
import { KEY_PLACES, type TokenIssuerText } from './schema-tokens.ts';
import { type CheckContext, checkList, type NamedItem } from './sections.ts';
import { entryOf, placeAt, toData, valueAt } from './tree.ts';

/** An issuer whose expressions, and whose keys in a variable, are not checked yet. */
export type IssuerDraft = ReturnType<typeof draftIssuer>;

/** Checks the issuers of tokens. Each `iss` is stated once: a token has one set of terms. */
export function draftIssuers(context: CheckContext): IssuerDraft[] {
  const issuers = new Map<string, SourceSpan>();
  return checkList('tokens', context).map((named) => {
    const draft = draftIssuer(named, context.report);
    const { issuer } = draft.data ?? {};
    if (issuer !== undefined) context.report.isFirst(issuer, placeAt(named.tree, 'issuer'), issuers, issuer);
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
    /** The place of the variable that has its keys. */
    variablePlace: placeAt(tree, 'jwks_env'),
    modelPlaces: (data?.models ?? []).map((model, at) => ({ name: model, place: placeAt(tree, 'models', at) })),
    keys: data && keysOf(named, data, report),
    when: expressionAt(named, 'when'),
    admin: expressionAt(named, 'admin'),
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

/** Null if the address is wrong. */
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

/** The address without a slash at its end; null for one that keys cannot be read from. */
function addressOfKeys(text: string, { what, place, allowPrivate }: KeyAddress, report: Report): string | null {
  const url = normalUrl(text);
  if (url === null) {
    report.add('bad-form', place, `${what} is not an address that keys can be read from`, {
      ...ADDRESS,
      hint: 'state the keys of an issuer that has no address in `jwks`, `jwks_env` or `jwks_url`',
    });
    return null;
  }
  refuseForbidden(url, what, place, report);
  if (url.startsWith('http:') && !isThisMachine(url)) {
    report.add('bad-form', place, `${what} is read without encryption, so anybody on the way could sign tokens`, {
      expected: 'https://',
    });
  }
  if (!allowPrivate && isPrivate(url)) {
    report.add('private-host', place, `${what} leads to a private network, where keys are not read`, {
      hint: 'if it is yours, add `allow_private_network: true` to the issuer',
    });
  } else if (!allowPrivate) reviewPrivateName(url, what, place, report, 'issuer');
  return url;
}

const isThisMachine = (url: string): boolean => /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(new URL(url).hostname);

function isPrivate(url: string): boolean {
  const address = literalAddress(new URL(url).hostname);
  return isThisMachine(url) || (address !== null && addressClass(address) === 'private');
}

const PUBLIC_KINDS: readonly unknown[] = ['RSA', 'EC', 'OKP'];

/** Reports the first key of a set that is none of use. @returns whether all are */
function checkKeySet({ keys }: KeySet, what: string, place: SourceSpan, report: Report): boolean {
  for (const [at, { kty, d }] of keys.entries()) {
    if (d !== undefined) {
      report.add('secret', place, `\`${what}\` has a private key: whoever reads it can sign tokens`, {
        hint: 'replace the key at its issuer, and state only the public one',
      });
      return false;
    }
    if (PUBLIC_KINDS.includes(kty)) continue;
    const message = `key ${at + 1} of \`${what}\` is of no kind that signs tokens here`;
    report.add('bad-form', place, message, { expected: '`kty` of RSA, EC or OKP' });
    return false;
  }
  return true;
}

interface IssuerContext {
  readonly check: ExpressionChecker;
  readonly env: Environment;
  readonly report: Report;
}

/** Compiles the issuers; those that are wrong are left out, and reported. */
export const compileIssuers = (drafts: readonly IssuerDraft[], context: IssuerContext): TokenIssuer[] =>
  drafts.flatMap((draft) => compileIssuer(draft, context) ?? []);

function compileIssuer(draft: IssuerDraft, { check, env, report }: IssuerContext): TokenIssuer | null {
  const when = check.ofClaims(draft.when);
  const admin = check.ofClaims(draft.admin);
  if (when) refuseOpen(when, 'every token of the issuer', report);
  if (admin) refuseOpen(admin, 'every subject of the issuer an administrator', report);
  const labels = draft.labels.flatMap(([label, expression]): [string, TextProgram][] => {
    const program = check.textOfClaims(expression);
    return program ? [[label, program]] : [];
  });
  for (const model of draft.modelPlaces) check.model(model);
  const { data, name, outline } = draft;
  const variable = data?.jwks_env;
  const text = variable === undefined ? undefined : env.get(variable)?.trim();
  const set = text && variable !== undefined ? keySetIn(text, variable, draft, report) : null;
  if (!data || !draft.keys || !when) return null;
  return {
    name,
    issuer: data.issuer,
    audiences: typeof data.audience === 'string' ? [data.audience] : data.audience,
    when: (claims) => when.run(claimsViewOf(claims)),
    admin: admin && ((claims) => admin.run(claimsViewOf(claims))),
    labels: new Map(labels.map(([label, program]) => [label, (claims: Claims) => program.run(claimsViewOf(claims))])),
    scopes: data.scopes,
    models: data.models ? new Set(data.models) : null,
    limits: data.limits ? limitsOf(data.limits) : null,
    keys: set ? { from: 'policy', set } : draft.keys,
    definition: JSON.stringify([outline, text]),
  };
}

const limitsOf = (limits: NonNullable<TokenIssuerText['limits']>): KeyLimits => ({
  requestsPerMinute: limits.requests_per_minute ?? null,
  tokensPerMinute: limits.tokens_per_minute ?? null,
  concurrentStreams: limits.concurrent_streams ?? null,
});

/** Null for keys that cannot be used, which are reported. */
function keySetIn(text: string, variable: string, { path, variablePlace }: IssuerDraft, report: Report): KeySet | null {
  const found = parsed(text);
  const keys = isObject(found) && Array.isArray(found.keys) ? found.keys.filter(isObject) : [];
  if (keys.length === 0) {
    report.add('bad-environment', variablePlace, `the variable \`${variable}\` holds no keys`, {
      expected: 'JSON such as `{"keys": [{"kty": "RSA", …}]}`',
    });
    return null;
  }
  return checkKeySet({ keys }, `${path}.jwks_env`, variablePlace, report) ? { keys } : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Claims that every token has, with which no condition may hold. */
const BARE: Claims = {
  iss: 'https://issuer.example',
  sub: 'subject',
  aud: 'audience',
  exp: 1,
  iat: 1,
  nbf: 1,
  jti: 'id',
};

/** Reports a condition that tells no token from others. */
function refuseOpen({ ast, placeOf, run, draft }: Program, effect: string, report: Report): void {
  const readsClaims = [...accessesOf(ast)].some(({ path: [owner] }) => owner === 'claims');
  if (readsClaims && tryRun({ run }, claimsViewOf(BARE)).value !== true) return;
  const message = `\`${draft.path}\` ${draft.path.endsWith('admin') ? 'makes' : 'admits'} ${effect}`;
  report.add('open-issuer', placeOf(ast), message, {
    hint: 'compare a claim that only your own workloads have, such as `claims.repository_owner == "acme"`',
  });
}
