import { docsHref } from '../api/base.ts';
import { Button } from '../design/button.tsx';
import { toast } from '../design/toast.tsx';
import { DOCS_OF_VIEWS } from '../docs-of-views.ts';
import { VIEWS } from '../views.ts';
import { hrefOf } from './router.ts';
import { mayView, session, signOut } from './session.ts';
import { type Theme, theme } from './theme.ts';
import type { ConsoleView } from './view.ts';

const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };
const THEMES: Readonly<Record<Theme, string>> = { system: 'System theme', light: 'Light theme', dark: 'Dark theme' };

/** The navigation with the names of the views, and the signed-in person. */
export function Rail({ view }: { readonly view: ConsoleView | null }) {
  const now = session.value;
  const leave = async () => {
    const problem = await signOut();
    if (problem !== null) toast(problem);
  };
  return (
    <header class="rail">
      <a class="rail-name" href={hrefOf('/')}>
        <Logo />
        Signalbox
      </a>
      <nav class="rail-views" aria-label="Views">
        {VIEWS.filter(({ action }) => mayView(action)).map(({ name, title, path }) => (
          <a key={name} class="rail-view" href={hrefOf(path)} aria-current={view?.name === name ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <div class="rail-foot">
        {now.state === 'in' && (
          <p class="rail-person" title={now.viewer.user?.email ?? undefined}>
            {now.viewer.name ?? 'A token'}
            <span class="rail-role small dim">{now.viewer.role}</span>
          </p>
        )}
        <a
          class="button button-plain"
          href={docsHref(view ? DOCS_OF_VIEWS[view.name] : 'README.md')}
          target="_blank"
          rel="noreferrer"
          title={view ? `Documentation of the view ${view.title}` : undefined}
        >
          Docs
        </a>
        <Button
          kind="plain"
          title={`Next: ${THEMES[NEXT[theme.value]].toLowerCase()}`}
          onClick={() => {
            theme.value = NEXT[theme.value];
          }}
        >
          {THEMES[theme.value]}
        </Button>
        <Button kind="plain" onClick={() => void leave()}>
          Sign out
        </Button>
      </div>
    </header>
  );
}

/** The logo: a signal with one light on. */
export const Logo = () => (
  <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
    <rect width="16" height="16" rx="4" fill="var(--ink)" />
    <circle cx="8" cy="5" r="2.4" fill="var(--accent)" />
    <circle cx="8" cy="11" r="1.9" fill="none" stroke="var(--paper)" stroke-width="1.2" />
  </svg>
);
