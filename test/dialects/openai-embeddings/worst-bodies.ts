import { type Bodies, list, members } from '../../holes/worst/requests.ts';

const query = (input: unknown, rest: object = {}) => ({ model: 'auto', input, ...rest });
/** A request may have at most this many inputs. */
const INPUTS_MAX = 2_048;

export const BODIES: Bodies = {
  'a long text': (parts) => query('x y. '.repeat(parts)),
  'a long text of wide letters': (parts) => query('é中'.repeat(parts)),
  'texts of many words': (parts) => query(list(INPUTS_MAX, () => 'word '.repeat(Math.ceil(parts / INPUTS_MAX)))),
  'a list of tokens': (parts) => query(list(parts, (at) => at)),
  'lists of tokens': (parts) => query(list(INPUTS_MAX, () => list(Math.ceil(parts / INPUTS_MAX), (at) => at))),
  'unknown fields': (parts) =>
    query(
      'x',
      members(parts, () => 1),
    ),
  metadata: (parts) => query('x', { metadata: members(parts, () => 'x') }),
};
