import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PolicySnapshot } from '../../../src/core/policy/snapshot.ts';
import { TASK_NAMES } from '../../../src/core/request/tasks.ts';
import { isRefusal } from '../../../src/routing/decide.ts';
import { loaded, outcomeOf, prepared } from '../../routing/build.ts';
import { routeFacts } from '../../support/chat-body.ts';
import { EVERY_VARIABLE } from '../shipped.ts';

/** The policy files that version 0.1 was shipped with. */
const FOLDER = join(import.meta.dir, 'shipped-0.1');
const shippedWithFirst = readdirSync(FOLDER).map((name) => ({
  path: name,
  text: readFileSync(join(FOLDER, name), 'utf8'),
}));

/** The shipped policy after an operator has deleted every section of the main file, so that each default applies. */
const bare = shippedWithFirst
  .filter(({ path }) => path !== 'cases.yaml' && path !== 'simulated.yaml')
  .map((file) => (file.path === 'signalbox.yaml' ? { ...file, text: 'version: 1\n' } : file));

const caller = { keyId: 'k', scopes: new Set(['route'] as const), labels: {}, models: null, limits: null, budgets: [] };

/** Maps every task, selector and kind of language to the choice and its exact utility. */
function decisionsWith(from: PolicySnapshot): Record<string, string> {
  const decided: Record<string, string> = {};
  for (const task_type of TASK_NAMES)
    for (const model of ['auto', 'auto-fast', 'auto-cheap'])
      for (const languages of [[], ['rust'], ['brainfuck']]) {
        const query = {
          model,
          task_type,
          ...(languages.length > 0 && { constraints: { required_languages: languages } }),
        };
        const outcome = outcomeOf(from, routeFacts(query, caller, from), prepared(from, model));
        const told = isRefusal(outcome)
          ? 'refused'
          : `${from.models[outcome.ranked[0].model]!.id} ${outcome.ranked[0].utility}`;
        decided[[task_type, model, ...languages].join(' ')] = told;
      }
  return decided;
}

/** Returns the decisions of both policies under version 1. `version-1.json` contains the decisions of the last release before version 2. */
export const decisionsOfVersion1 = () => ({
  shipped: decisionsWith(loaded(shippedWithFirst, EVERY_VARIABLE)),
  bare: decisionsWith(loaded(bare, EVERY_VARIABLE)),
});
