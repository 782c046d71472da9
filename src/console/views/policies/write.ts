import type { Static } from '@sinclair/typebox';
import type * as policy from '../../../admin/policy-answers.ts';
import { send, sendForText } from '../../api/client.ts';
import type { ApiFailure, ApiResult } from '../../api/failure.ts';
import { renewAll } from '../../api/resource.ts';
import { toast } from '../../design/toast.tsx';
import { changes, draft, type PolicyDraft } from './draft.ts';
import { shortOf } from './places.ts';
import { inTurn } from './tools.ts';

type PolicyWrite = Static<typeof policy.PolicyWrite>;
type SentChanges = readonly { readonly name: string; readonly text: string | null }[];

const put = (sent: SentChanges, revision: string): Promise<ApiResult<PolicyWrite>> =>
  inTurn(() =>
    send<PolicyWrite>('PUT', '/admin/policy/files', {
      body: { changes: sent },
      headers: { 'if-match': `"${revision}"` },
    }),
  );

/** Writes the edit and puts it in force. @returns why it did not; null where it did */
export async function writeDraft(): Promise<ApiFailure | null> {
  const now = draft.peek();
  if (!now) return null;
  const result = await put(changes.peek(), now.revision);
  renewAll('/admin/policy');
  if (!result.ok) return result.failure;
  // What was typed meanwhile goes on from there.
  draft.value = behind(draft.peek(), now, result.value.revision);
  toast(`Revision ${shortOf(result.value.revision)} is in force`, () => void takeBack(now, result.value.revision));
  return null;
}

function behind(later: PolicyDraft | null, written: PolicyDraft, revision: string): PolicyDraft | null {
  if (!later) return null;
  const edits = new Map<string, { base: string | null; text: string | null }>();
  for (const [name, { text }] of later.edits) {
    const base = written.edits.get(name)?.text ?? later.edits.get(name)?.base ?? null;
    if (text !== base) edits.set(name, { base, text });
  }
  return edits.size === 0 ? null : { revision, edits };
}

/** Writes the texts of before. The edit is there again, so that nothing of it is lost. */
async function takeBack(written: PolicyDraft, revision: string): Promise<void> {
  const sent = [...written.edits].map(([name, { base }]) => ({ name, text: base }));
  const result = await put(sent, revision);
  renewAll('/admin/policy');
  if (!result.ok) return toast(`The edit was not taken back: ${result.failure.message}`);
  if (!draft.peek()) draft.value = { ...written, revision: result.value.revision };
  toast(`Revision ${shortOf(result.value.revision)} is in force again`);
}

/** Makes a patch of the edit and hands it to the browser. @returns why not; null where it did */
export async function downloadPatch(): Promise<ApiFailure | null> {
  const result = await inTurn(() => sendForText('POST', '/admin/policy/patch', { body: { changes: changes.peek() } }));
  if (!result.ok) return result.failure;
  const address = URL.createObjectURL(new Blob([result.value], { type: 'text/x-diff' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = 'policy.patch';
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  return null;
}
