import { shipped } from '../../../plugins/index.ts';
import { parseCommand } from '../../../src/cli/options.ts';
import { serve } from '../../../src/server/serve.ts';
import { openaiChat } from '../../../src/surface/openai-chat/surface.ts';
import { ollamaChat } from './surface.ts';

/** The whole server, with one more surface beside the shipped one. */
const command = parseCommand(process.argv.slice(2), process.env, () => 'policies');
if (command.name !== 'serve') throw new Error('this program only serves');
const terminal = (stream: NodeJS.WriteStream) => ({
  write: (text: string) => void stream.write(text),
  isTerminal: false,
});
await serve(
  command.options,
  {
    version: '0.0.0-test',
    shipped,
    out: terminal(process.stdout),
    err: terminal(process.stderr),
    env: (name) => process.env[name],
    now: Date.now,
    clock: () => performance.now(),
  },
  [openaiChat, ollamaChat],
);
