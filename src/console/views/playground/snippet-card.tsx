import { useId, useState } from 'preact/hooks';
import { BASE } from '../../api/base.ts';
import { CopyButton } from '../../design/copy.tsx';
import { Tabs } from '../../design/tabs.tsx';
import type { Dialect, RequestBody } from './body.ts';
import { curlOf, sdkOf } from './snippets.ts';

/** The request as a shell command and as a program. Neither the command nor the program contains a secret. */
export function SnippetCard({ dialect, body }: { readonly dialect: Dialect; readonly body: RequestBody }) {
  const [form, setForm] = useState<'curl' | 'sdk'>('curl');
  const id = useId();
  const origin = location.origin + BASE;
  const text = form === 'curl' ? curlOf(origin, dialect, body) : sdkOf(origin, dialect, body);
  return (
    <section class="card" aria-labelledby={`${id}-head`}>
      <div class="card-head">
        <h2 id={`${id}-head`}>Send this request from a program</h2>
        <CopyButton text={text} label={form === 'curl' ? 'Copy as curl' : 'Copy as SDK'} />
      </div>
      <Tabs
        label="Form"
        tabs={[
          { id: 'curl', label: 'curl' },
          { id: 'sdk', label: 'SDK' },
        ]}
        value={form}
        onValue={(next) => setForm(next)}
        panel={id}
      />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a panel of tabs takes the focus, also to scroll */}
      <div id={id} class="scrolled" role="tabpanel" tabIndex={0} aria-labelledby={`${id}-${form}`}>
        <pre>{text}</pre>
      </div>
    </section>
  );
}
