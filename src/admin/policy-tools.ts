import { Type } from '@sinclair/typebox';
import * as f from '../core/define/fields.ts';
import { operationsOn } from './kit/operation.ts';
import { BUNDLE, SIDE } from './policy-shapes.ts';
import { PolicyCheck, PolicyDifference, PolicyTest } from './policy-tool-answers.ts';
import { sentBundle } from './use-cases/policy/bundles.ts';
import { checkPolicy } from './use-cases/policy/check.ts';
import { atDesk, filesOnDisk, type PolicyDesk, sourceOf } from './use-cases/policy/desk.ts';
import { buildSide, differenceBody, differenceOf } from './use-cases/policy/diff.ts';
import { SETTINGS } from './use-cases/policy/settings.ts';
import { testPolicy } from './use-cases/policy/test.ts';

/** The services that policy tools use. A command checks a policy folder and returns the same shapes. */
export interface ToolServices {
  readonly desk: PolicyDesk;
}
const operation = operationsOn<ToolServices>();

/** Members that all policy tools have. */
const TOOL = {
  command: false,
  bodyMax: 'policy',
  action: 'policy.check',
} as const;

const SENT =
  'A policy in the request can run only plugins of the active policy. It can see whether a variable is set, but not its value. Each principal can run one check, test, difference, patch or edit at a time.';

const ON_DISK = { disk: { summary: 'The files on disk', value: {} } };

const check = operation({
  ...TOOL,
  name: 'policy check',
  http: 'POST /admin/policy/check',
  summary: 'Check a policy',
  details: `Returns every mistake of a policy with its location, its line and its fix, as \`policy check\` does. Send all files of the policy, or only the files that differ from those on disk. Without either, the files on disk are checked. ${SENT}`,
  input: f.closed('The policy to check; by default the files on disk.', {
    ...BUNDLE,
    choices: Type.Optional(
      f.word(
        SETTINGS,
        'Lists what each selector chooses for each task and difficulty: `all_set` as if all variables were set, `here` with the variables that are set here. By default, no choices are listed.',
        'all_set',
      ),
    ),
  }),
  output: f.onWire(PolicyCheck),
  answer: 'Every mistake.',
  examples: ON_DISK,
  errorField: 'files',
  errors: ['conflict'],
  run: async ({ desk }, { by }, { choices, ...sent }) =>
    await atDesk(by, desk, async (judge) => {
      const disk = await filesOnDisk(desk);
      return await checkPolicy(
        'the policy',
        sentBundle(sent, () => disk),
        judge,
        { disk, choices: choices ?? null },
      );
    }),
});

/** The most letters of a text that selects cases by name. */
const CASE_LENGTH_MAX = 200;

const test = operation({
  ...TOOL,
  name: 'policy test',
  http: 'POST /admin/policy/test',
  summary: 'Run the cases of a policy',
  details: `Runs the policy's own cases, once with all variables set and once with the variables that are set here, as \`policy test --coverage\` does. ${SENT}`,
  input: f.closed('The policy whose cases run; by default the files on disk.', {
    ...BUNDLE,
    case: Type.Optional(
      Type.String({
        maxLength: CASE_LENGTH_MAX,
        description: 'Runs only the cases whose names contain this text.',
        examples: ['night'],
      }),
    ),
    here: Type.Optional(
      f.flag(
        'Whether to run the cases only with the variables that are set here. By default they also run with all variables set.',
        false,
      ),
    ),
  }),
  output: f.onWire(PolicyTest),
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
  details: `Compares two policies, as \`policy diff\` does. Returns the declarations that differ, the cases that are decided differently, and the difference of the texts. Each side is the active policy, a stored revision, files in the request, or the files on disk. ${SENT}`,
  input: f.closed('Two policies.', {
    a: Type.Optional(f.closed('The earlier policy; by default the active policy.', SIDE)),
    b: Type.Optional(f.closed('The later policy; by default the files on disk.', SIDE)),
  }),
  output: f.onWire(PolicyDifference),
  answer: 'The difference.',
  examples: { disk: { summary: 'Compare the active policy with the files on disk', value: {} } },
  errorField: 'a',
  errors: ['conflict', 'not_found'],
  run: async ({ desk }, { by }, { a = null, b = {} }) =>
    await atDesk(by, desk, async (judge, isStale) => {
      const sides = [await sourceOf(a, desk, judge), await sourceOf(b, desk, judge)] as const;
      const [earlier, later] = [await buildSide(sides[0], judge), await buildSide(sides[1], judge)];
      return await differenceBody(await differenceOf(earlier, later, undefined, isStale), isStale);
    }),
});

/** The operations that check, test and compare policies. */
export const POLICY_TOOLS = [check, test, diff];
