import { testPolicy, UPSTREAM_ENV, withCompletions } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';

export { contentOf, send, WAYS, type Way } from '../steps/served.ts';

/** Returns a policy with one priced model and the section `guards`. @param guards the YAML of its items */
export const guardedPolicy = (upstream: string, guards: string, more = '') =>
  withCompletions(
    testPolicy(
      { fake: upstream },
      { best: { endpoints: ['fake'], price: { input: 4, output: 16 } } },
      `guards:\n${guards}\n${more}`,
    ),
  );

/** Starts a server with one priced model and the section `guards`. @param guards the YAML of its items */
export const startGuarded = (upstream: string, guards: string, more = ''): Promise<Signalbox> =>
  startSignalbox({ policy: guardedPolicy(upstream, guards, more), env: UPSTREAM_ENV });

export const EMAIL = 'quxley@example.com';
export const MASK_EMAIL =
  '  - { name: pii, guard: personal-data, settings: { kinds: [email] }, on: [input, output], on_match: mask }';
export const PLACEHOLDER = /\[email:[a-p]{12}\]/g;
