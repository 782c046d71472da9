import { objectOf, objectsIn, parseJson } from '../../core/json/object.ts';
import type { Claims, KeySet, TokenIssuer } from '../../core/people/token-issuer.ts';
import { accessesOf } from '../cel/ast.ts';
import type { Program, TextProgram } from '../cel/check.ts';
import { tryRun } from '../cel/trials.ts';
import { claimsViewOf } from '../cel/types.ts';
import { PLACEHOLDER } from '../define/environment.ts';
import { defineList, type SectionContext } from '../define/section.ts';
import type { Report } from '../report/report.ts';
import { ratesOf } from '../schema/limits.ts';
import { checkKeySet, draftIssuers, type IssuerDraft } from './token-drafts.ts';
import { TokenIssuerText } from './tokens-schema.ts';

/** The section `tokens`. */
export const TOKENS = defineList({
  name: 'tokens',
  description: 'Issuers of JWTs that workloads send instead of API keys.',
  item: TokenIssuerText,
  guard: 'it decides whose tokens are accepted instead of keys, and makes administrators',
  page: ['Run', '../operate/tokens.md'],
  draft: (items, { report }) => draftIssuers(items, report),
  compile: compileIssuer,
});

function compileIssuer(draft: IssuerDraft, { check, env, report }: SectionContext): TokenIssuer | null {
  const when = check.ofClaims(draft.when);
  const admin = check.ofClaims(draft.admin);
  const team = check.textOfClaims(draft.team);
  if (when) refuseOpen(when, 'every token of the issuer', report);
  if (admin) refuseOpen(admin, 'every subject of the issuer an administrator', report);
  const labels = draft.labels.flatMap(([label, expression]): [string, TextProgram][] => {
    const program = check.textOfClaims(expression);
    return program ? [[label, program]] : [];
  });
  check.claimsOfIssuer([when, admin, team, ...labels.map(([, program]) => program)]);
  for (const model of draft.modelPlaces) check.model(model);
  const { data, name, outline } = draft;
  const variable = data?.jwks_env;
  const text = variable === undefined ? undefined : env.get(variable)?.trim();
  const set = text && text !== PLACEHOLDER && variable !== undefined ? keySetIn(text, variable, draft, report) : null;
  if (!data || !draft.keys || !when) return null;
  return {
    name,
    issuer: data.issuer,
    audiences: typeof data.audience === 'string' ? [data.audience] : data.audience,
    when: (claims) => when.run(claimsViewOf(claims)),
    admin: admin && ((claims) => admin.run(claimsViewOf(claims))),
    labels: new Map(labels.map(([label, program]) => [label, (claims: Claims) => program.run(claimsViewOf(claims))])),
    team: team && ((claims) => team.run(claimsViewOf(claims))),
    scopes: data.scopes,
    models: data.models ? new Set(data.models) : null,
    limits: data.limits ? ratesOf(data.limits) : null,
    keys: set ? { from: 'policy', set } : draft.keys,
    definition: JSON.stringify([outline, text]),
  };
}

/** `keySetIn` returns null for keys that cannot be used, which are reported. */
function keySetIn(text: string, variable: string, { path, variablePlace }: IssuerDraft, report: Report): KeySet | null {
  const keys = objectsIn(objectOf(parseJson(text)).keys);
  if (keys.length === 0) {
    report.add('bad-environment', variablePlace, `the environment variable \`${variable}\` holds no keys`, {
      expected: 'JSON such as `{"keys": [{"kty": "RSA", …}]}`',
    });
    return null;
  }
  return checkKeySet({ keys }, `${path}.jwks_env`, variablePlace, report) ? { keys } : null;
}

/** Claims that every token has. No condition may be true for these claims alone. */
const BARE: Claims = {
  iss: 'https://issuer.example',
  sub: 'subject',
  aud: 'audience',
  exp: 1,
  iat: 1,
  nbf: 1,
  jti: 'id',
};

/** Reports a condition that is true for every token. */
function refuseOpen({ ast, placeOf, run, draft }: Program, effect: string, report: Report): void {
  const readsClaims = [...accessesOf(ast)].some(({ path: [owner] }) => owner === 'claims');
  if (readsClaims && tryRun({ run }, claimsViewOf(BARE)).value !== true) return;
  const message = `\`${draft.path}\` ${draft.path.endsWith('admin') ? 'makes' : 'admits'} ${effect}`;
  report.add('open-issuer', placeOf(ast), message, {
    hint: 'compare a claim that only your own workloads have, such as `claims.repository_owner == "acme"`',
  });
}
