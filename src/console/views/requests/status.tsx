import { State, type Tone } from '../../design/tag.tsx';

const STATUSES: Readonly<Record<string, { readonly tone: Tone; readonly word: string }>> = {
  completed: { tone: 'good', word: 'Completed' },
  failed: { tone: 'bad', word: 'Failed' },
  broken: { tone: 'bad', word: 'Broken' },
  abandoned: { tone: 'warn', word: 'Abandoned' },
  recommended: { tone: 'quiet', word: 'Recommended' },
};

/** The words of all statuses, for a choice of one. */
export const STATUS_OPTIONS = Object.entries(STATUSES).map(([value, { word }]) => ({ value, label: word }));

/** How the execution of a request ended. */
export function StatusTag({ status }: { readonly status: string }) {
  const { tone, word } = STATUSES[status] ?? { tone: 'quiet', word: status };
  return <State tone={tone}>{word}</State>;
}
