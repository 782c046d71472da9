import { beforeAll, describe, expect, test } from 'bun:test';
import type { Runtime } from '../../../../src/policy/runtime/runtime.ts';
import { runCase } from '../../../support/run-case.ts';
import { policyText, runtimeFor } from './cases-support.ts';

/** The team and the user of a case, as conditions see them and with the terms that the policy declares. */
const PEOPLE = `organization:
  models: [cheap, middle, dear]
  member_defaults: { models: [cheap, middle] }
teams:
  - { name: search, models: [cheap] }
  - { name: ads, member_defaults: { models: [middle] } }
constraints:
  - { name: leads-alone, when: 'user.role != "lead" && team.name == "made"', require: 'model.id != "dear"' }
  - { name: not-ada, when: 'user.name == "Ada" && user.id == "user_1" && team.id == "team_1"', require: 'model.id != "middle"' }
`;
const CASES = {
  'that fails': `{ given: { team: { name: search } }, expect: { model: dear } }`,
  'that fails for a key': `{ given: { key: { models: [cheap] }, team: { name: made } }, expect: { model: middle } }`,
  'of nobody': `{ given: { model: dear }, expect: { model: dear } }`,
  'of a declared team': `{ given: { model: dear, team: { name: search } }, expect: { refused: insufficient_permissions } }`,
  'of a user': `{ given: { model: dear, user: { name: Ada } }, expect: { refused: insufficient_permissions } }`,
  'of a team with members': `{ given: { model: cheap, team: { name: ads }, user: {} }, expect: { refused: insufficient_permissions } }`,
  'of a team of the API': `{ given: { team: { name: made } }, expect: { rejected: { dear: leads-alone } } }`,
  'of its lead': `{ given: { model: middle, team: { name: made }, user: { role: lead } }, expect: { model: middle } }`,
  'by its IDs': `{ given: { team: { name: any, id: team_1 }, user: { name: Ada, id: user_1 } }, expect: { rejected: { middle: not-ada } } }`,
};
let runtime: Runtime;

beforeAll(async () => {
  const cases = Object.entries(CASES).map(([name, text]) => `  - ${text.replace('{', `{ name: ${name},`)}`);
  const own = policyText('').replace(/^constraints:\n/m, `${PEOPLE}`);
  runtime = await runtimeFor(`${own}cases:\n${cases.join('\n')}\n`);
});

describe('a case with a team or a user', () => {
  test.each(Object.keys(CASES).filter((name) => !name.startsWith('that fails')))(
    'a case %s is decided like a request with such a key',
    (name) => {
      const found = runtime.snapshot.cases.find((one) => one.name === name)!;
      expect(runCase(found, runtime).failures).toEqual([]);
    },
  );

  test.each([
    ['that fails', 'dear was rejected because the team `search` may not use it'],
    ['that fails for a key', 'middle was rejected because this API key may not use it'],
  ])('a case %s names the sender whose list excludes the expected model', (name, hint) => {
    const found = runtime.snapshot.cases.find((one) => one.name === name)!;
    expect(runCase(found, runtime).failures).toMatchObject([{ key: 'model', hint }]);
  });
});
