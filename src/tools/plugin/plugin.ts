import { groupOf } from '../../admin/cli/arguments.ts';
import { newPlugin } from './new.ts';
import { testPlugin } from './test.ts';

/** Runs `signalbox plugin new|test`. Throws UsageError, or an Error of one sentence. */
export const runPlugin = groupOf('plugin', { new: newPlugin, test: testPlugin });
