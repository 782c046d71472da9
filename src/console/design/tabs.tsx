interface TabsProps<Id extends string> {
  readonly label: string;
  readonly tabs: readonly { readonly id: Id; readonly label: string }[];
  readonly value: Id;
  onValue(id: Id): void;
  /** The `id` of the element with the role `tabpanel` that the tabs change. */
  readonly panel: string;
}

/** Tabs for the parts of one view. The arrow keys move between them. */
export function Tabs<Id extends string>({ label, tabs, value, onValue, panel }: TabsProps<Id>) {
  const step = (event: KeyboardEvent & { readonly currentTarget: HTMLElement }, at: number) => {
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const to = (next + tabs.length) % tabs.length;
    const tab = tabs[to];
    if (!tab) return;
    onValue(tab.id);
    const buttons = event.currentTarget.parentElement?.querySelectorAll<HTMLElement>('[role=tab]');
    buttons?.[to]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label}>
      {tabs.map((tab, at) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          class="tab"
          id={`${panel}-${tab.id}`}
          aria-controls={panel}
          aria-selected={tab.id === value}
          tabIndex={tab.id === value ? 0 : -1}
          onClick={() => onValue(tab.id)}
          onKeyDown={(event) => step(event, at)}
        >
          {tab.label}
        </button>
      ))}
    </div>
  );
}
