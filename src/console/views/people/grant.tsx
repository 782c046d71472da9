import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { read, send } from '../../api/client.ts';
import { amountToSend, signOf } from '../../design/amount.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { Field } from '../../design/field.tsx';
import { toast } from '../../design/toast.tsx';
import { exactCredits } from '../../design/written.tsx';
import { renewChanged } from '../../kit/actions.tsx';
import { AmountField } from '../../kit/amount-field.tsx';

interface GrantFormProps {
  /** The path that grants Credits: `/admin/keys/k7mw2pq9x4ta/grant`. */
  readonly path: string;
  readonly hint: string;
  /** The confirmation before a grant with a consequence that cannot be undone: its title, the consequence, and the verb. */
  readonly question?: readonly [title: string, text: string, confirm: string] | undefined;
  /** Buttons after the Grant button. */
  readonly children?: ComponentChildren;
}

/** A random name. `randomUUID` works only on pages served over HTTPS. */
const freshName = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-');

/** Adds Credits to a balance or removes them. A retry after a lost response, or a second click, does not grant twice. */
export function GrantForm({ path, hint, question, children }: GrantFormProps) {
  const [credits, setCredits] = useState('');
  const [note, setNote] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isAsking, setAsking] = useState(false);
  /** The name of the grant, by which the server recognises a retry. */
  const name = useRef(freshName());
  const sign = signOf(credits);
  // The server says what is wrong with an amount that cannot be read.
  const isReady = credits.trim() !== '' && sign !== 0;
  const type = (set: (text: string) => void) => (text: string) => {
    name.current = freshName();
    setProblem(null);
    set(text);
  };
  const grant = async () => {
    setBusy(true);
    const amount = amountToSend(credits);
    const body = { credits: amount, ...(note.trim() !== '' && { note: note.trim() }) };
    const result = await send('POST', path, { body, headers: { 'idempotency-key': name.current } });
    setBusy(false);
    setAsking(false);
    if (!result.ok) {
      // After a refusal the grant gets a new name, because the server would repeat a refusal for the same name.
      if (result.failure.status >= 400 && result.failure.status < 500) name.current = freshName();
      return setProblem(result.failure.message);
    }
    type(setCredits)('');
    setNote('');
    renewChanged();
    const converted = await read('/admin/amount', { amount });
    const granted = converted.ok ? exactCredits(Math.abs(converted.value.credits)) : amount.replace('-', '');
    toast(sign === -1 ? `${granted} were removed from the balance.` : `${granted} were added to the balance.`);
  };
  return (
    <form
      class="stack-tight"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isReady || isBusy) return;
        if (question) setAsking(true);
        else void grant();
      }}
    >
      <div class="columns">
        <AmountField label="Grant" value={credits} onValue={type(setCredits)} error={problem} hint={hint} />
        <Field label="Note" value={note} onValue={type(setNote)} hint="The ledger keeps the note with the entry." />
      </div>
      <div class="row">
        <Button type="submit" disabled={!isReady || isBusy}>
          {sign === -1 ? 'Remove Credits' : 'Grant'}
        </Button>
        {children}
      </div>
      {question && isAsking && (
        <Dialog
          title={question[0]}
          action={question[2]}
          isBusy={isBusy}
          onClose={() => setAsking(false)}
          onAction={() => void grant()}
        >
          {question[1]}
        </Dialog>
      )}
    </form>
  );
}
