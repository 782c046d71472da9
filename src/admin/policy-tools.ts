import { Type } from '@sinclair/typebox';
import * as field from '../core/api/parts.ts';
import * as f from './kit/fields.ts';
import { operationsOn } from './kit/operation.ts';
import { BUNDLE, SIDE } from './policy-shapes.ts';
import { PolicyCheck, PolicyDifference, PolicyTest } from './policy-tool-answers.ts';
import { sentBundle } from './use-cases/policy/bundles.ts';
import { checkPolicy } from './use-cases/policy/check.ts';
import { atDesk, filesOnDisk, type PolicyDesk, sourceOf } from './use-cases/policy/desk.ts';
import { buildSide, differenceBody, differenceOf } from './use-cases/policy/diff.ts';
import { testPolicy } from './use-cases/policy/test.ts';

/** The services that policy tools use. A command checks a policy folder and returns the same shapes. */
export interface ToolServices {
  readonly desk: PolicyDesk;
}
const operation = operationsOn<ToolServices>();

/** Members that every tool has. */
const TOOL = {
  command: false,
  bodyMax: 'policy',
  action: 'policy.check',
} as const;

const SENT =
  'A policy that is sent can run only plugins of the active policy, and sees of variables only whether they are set. Each principal can run one check, test, difference, patch or edit at a time.';

const ON_DISK = { disk: { summary: 'The files on disk', value: {} } };

const check = operation({
  ...TOOL,
  name: 'policy check',
  http: 'POST /admin/policy/check',
  summary: 'Check a policy',
  details: `Returns every mistake of a policy with its place, its line and its fix, as \`policy check\` does. The policy is the files that are sent, or changes of the files on disk, or without either the files on disk. ${SENT}`,
  input: f.body('The policy to check: the files on disk unless stated.', BUNDLE),
  output: PolicyCheck,
  answer: 'Every mistake.',
  examples: ON_DISK,
  errorField: 'files',
  errors: ['conflict'],
  run: async ({ desk }, { by }, sent) =>
    await atDesk(by, desk, async (judge) => {
      const disk = await filesOnDisk(desk);
      return await checkPolicy(
        'the policy',
        sentBundle(sent, () => disk),
        judge,
        { disk },
      );
    }),
});

/** Letters of a part of a case's name. */
const CASE_LENGTH_MAX = 200;

const test = operation({
  ...TOOL,
  name: 'policy test',
  http: 'POST /admin/policy/test',
  summary: 'Run the cases of a policy',
  details: `Runs the policy's own cases, with all variables set and with the variables that are set here, as \`policy test --coverage\` does. ${SENT}`,
  input: f.body('The policy whose cases run: the files on disk unless stated.', {
    ...BUNDLE,
    case: Type.Optional(
      Type.String({
        maxLength: CASE_LENGTH_MAX,
        description: 'Runs only the cases with this text in their names.',
        examples: ['night'],
      }),
    ),
    here: Type.Optional(
      field.flag('Whether to run them only with the variables that are set here, and not also with all set.', false),
    ),
  }),
  output: PolicyTest,
  answer: 'The results.',
  examples: ON_DISK,
  errorField: 'files',
  errors: ['conflict'],
  run: async ({ desk }, { by }, { case: text = null, here: onlyHere = false, ...sent }) =>
    await atDesk(by, desk, async (judge, isStale) => {
      const disk = await filesOnDisk(desk);
      const bundle = sentBundle(sent, () => disk);
      return await testPolicy('the policy', bundle, judge, { text, onlyHere, coverage: { min: null } }, isStale);
    }),
});

const diff = operation({
  ...TOOL,
  name: 'policy diff',
  http: 'POST /admin/policy/diff',
  summary: 'Compare two policies',
  details: `Returns what two policies declare differently, which cases they decide differently, and the difference of their texts, as \`policy diff\` does. Each is the active policy, a stored revision, files that are sent, or the files on disk. ${SENT}`,
  input: f.body('Two policies.', {
    a: Type.Optional(field.body('The earlier one: the active policy unless stated.', SIDE)),
    b: Type.Optional(field.body('The later one: the files on disk unless stated.', SIDE)),
  }),
  output: PolicyDifference,
  answer: 'The difference.',
  examples: { disk: { summary: 'The active policy and the files on disk', value: {} } },
  errorField: 'a',
  errors: ['conflict', 'not_found'],
  run: async ({ desk }, { by }, { a = null, b = {} }) =>
    await atDesk(by, desk, async (judge, isStale) => {
      const sides = [await sourceOf(a, desk, judge), await sourceOf(b, desk, judge)] as const;
      const [earlier, later] = [await buildSide(sides[0], judge), await buildSide(sides[1], judge)];
      return await differenceBody(await differenceOf(earlier, later, undefined, isStale), isStale);
    }),
});

/** The tools for policies. */
export const POLICY_TOOLS = [check, test, diff];
