import * as f from '../core/define/fields.ts';
import { CHECK_STATE_NAMES, CHECK_STATES } from './use-cases/doctor/states.ts';

export const CheckReport = f.named('CheckReport', 'The findings of all checks of an installation.', {
  object: f.always('doctor'),
  began_at: f.moment('When the checks began.', '2026-11-20T09:30:00.000Z'),
  ended_at: f.moment('When the checks ended.', '2026-11-20T09:30:02.000Z'),
  problems: f.count('How many findings are problems.', 1),
  warnings: f.count('How many findings are warnings.', 0),
  data: f.list(
    f.shape('A finding.', {
      check: f.text('The name of the check, which stays the same in later versions.', 'providers'),
      title: f.text('The name of the check for people.', 'Provider keys'),
      subject: f.orNull(
        f.text('What was examined; null if the check examines only one thing.', 'openai (OPENAI_API_KEY)'),
      ),
      state: f.word(
        CHECK_STATE_NAMES,
        CHECK_STATE_NAMES.map((state) => `\`${state}\`: ${CHECK_STATES[state]}`).join(' '),
        'problem',
      ),
      found: f.text(
        'What was found.',
        'api.openai.com refuses the key in OPENAI_API_KEY: 401: Incorrect API key provided.',
      ),
      advice: f.orNull(f.text('What to do; null if nothing is to be done.', 'Put a valid key into OPENAI_API_KEY.')),
    }),
    'The findings, in the order of the checks.',
  ),
});
