import { isLoopbackHost } from '../../core/net/loopback.ts';
import type { RoleRow, SignInPolicy } from '../../core/policy/sign-in.ts';
import type { Program } from '../cel/check.ts';
import { claimsViewOf } from '../cel/types.ts';
import { expressionAt } from '../check/expression-drafts.ts';
import { checkSection, sectionSubject, statedSubject } from '../check/section-checks.ts';
import { type DraftContext, defineSection, type SectionContext } from '../define/section.ts';
import { normalUrl, reportNoAddress } from '../providers/addresses.ts';
import type { Report } from '../report/report.ts';
import { placeAt, type ScalarTree, valueAt } from '../yaml/tree.ts';
import { PUBLIC_URL } from './public-url.ts';
import { SignInText } from './sign-in-schema.ts';

/** The section `sign_in`. */
export const SIGN_IN = defineSection({
  name: 'sign_in',
  text: SignInText,
  guard: 'it decides who signs in, and with which role',
  page: ['Run', '../operate/sign-in.md'],
  draft: draftSignIn,
  compile: compileSignIn,
});

/** Checks the section `sign_in` without its conditions and the environment; null if the policy leaves it out. */
function draftSignIn(context: DraftContext) {
  const stated = statedSubject('sign_in', context.sections);
  if (!stated) return null;
  const { report } = context;
  const publicUrl = context.of(PUBLIC_URL);
  const data = checkSection('sign_in', SignInText, context);
  const issuer = valueAt(stated.tree, 'issuer');
  if (issuer?.kind === 'scalar') checkIssuer(issuer, report);
  if (publicUrl !== null && !isProtected(publicUrl)) {
    const { place } = sectionSubject('public_url', context).tree;
    report.add(
      'bad-form',
      place,
      'people cannot sign in over `http://`, because browsers store no login cookie for such a page',
      {
        expected: 'https://, or the address of this machine',
      },
    );
  }
  const rows = valueAt(stated.tree, 'roles');
  const items = rows?.kind === 'list' ? rows.items : [];
  return {
    data,
    secretPlace: placeAt(stated.tree, 'client_secret_env'),
    rows: items.map((tree, at) => ({
      when: expressionAt({ path: `sign_in.roles[${at}]`, tree }, 'when'),
      place: tree.place,
      data: data?.roles[at] ?? null,
    })),
  };
}

const isProtected = (url: string): boolean => url.startsWith('https:') || isLoopbackHost(new URL(url).hostname);

/** The issuer in the policy is compared with the issuer in tokens character by character, so it is not normalized. */
function checkIssuer({ value, place }: ScalarTree, report: Report): void {
  const issuer = String(value);
  if (normalUrl(issuer) === null) reportNoAddress(issuer, '`sign_in.issuer`', place, report);
  else if (!isProtected(issuer)) {
    report.add(
      'bad-form',
      place,
      'Signalbox would read `sign_in.issuer` over `http://`, where anyone on the network can answer instead',
      {
        expected: 'https://, or the address of this machine',
      },
    );
  }
}

/** Checks the conditions of the rows, and compiles the section. `compileSignIn` returns null if the section is left out or wrong. */
function* compileSignIn(
  signIn: ReturnType<typeof draftSignIn>,
  { check, env, report }: SectionContext,
): Generator<undefined, SignInPolicy | null> {
  yield;
  if (!signIn) return null;
  const programs = signIn.rows.map(({ when }) => check.ofClaims(when));
  check.claimsOfIssuer(programs);
  const roles = signIn.rows.flatMap(({ place, data }, at): RoleRow[] => {
    if (data?.role === 'lead' && data.team === undefined) {
      report.add('missing-key', place, 'the role `lead` needs a team, but this row names none', {
        expected: '`team: NAME`',
      });
    }
    return data ? [{ role: data.role, team: data.team ?? null, when: conditionOf(programs[at] ?? null) }] : [];
  });
  if (!signIn.data) return null;
  const { issuer, client_id: clientId, client_secret_env: clientSecretEnv = null, scopes } = signIn.data;
  if (clientSecretEnv !== null && !env.get(clientSecretEnv)?.trim()) {
    const message = `the environment variable ${clientSecretEnv} is not set, so people cannot sign in`;
    report.add('nobody-signs-in', signIn.secretPlace, message, {
      hint: `set it, or put its value into a file and set \`${clientSecretEnv}_FILE\` to the path of that file`,
    });
  }
  return { issuer, clientId, clientSecretEnv, scopes: [...new Set(['openid', ...scopes])], roles };
}

const conditionOf = (program: Program | null): RoleRow['when'] =>
  program && ((claims) => program.run(claimsViewOf(claims)));
