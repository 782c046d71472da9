import { closed, flag, optional, text } from '../../core/define/fields.ts';
import type { ConsolePolicy } from '../../core/policy/snapshot.ts';
import { defineSettings } from '../define/section.ts';

const ConsoleText = closed('The web application at `/console`.', {
  enabled: flag('Whether the console is available, and people can sign in to it with a key.', {
    default: true,
    example: false,
  }),
  trace_url: optional(
    text(
      'URL of a request’s trace in your tracing system: a search for the attribute `signalbox.decision_id`, with `{decision_id}` in place of the ID. The console links to it. Default: no link.',
      {
        pattern: '^https?://[^\\s/?#@]+/\\S*\\{decision_id\\}\\S*$',
        expected: 'http:// or https://, a host, and a path or query with `{decision_id}`',
        maxLength: 1024,
        example:
          'https://traces.example.com/search?service=signalbox&tags=%7B%22signalbox.decision_id%22%3A%22{decision_id}%22%7D',
      },
    ),
  ),
});

/** The section `console`. */
export const CONSOLE = defineSettings({
  name: 'console',
  text: ConsoleText,
  guard: 'it decides who can open the console',
  read: ({ enabled, trace_url: traceUrl = null }): ConsolePolicy => ({ enabled, traceUrl }),
});
