// The box of a table that may be wider than its page. While it is, the keyboard reaches it, so that the arrow keys scroll it.
import { type ReactNode, useEffect, useRef, useState } from 'react';

export function ListScroll({ label, children }: { label: string; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const [isWide, setIsWide] = useState(false);
  useEffect(() => {
    const { current } = box;
    if (!current) return undefined;
    const observer = new ResizeObserver(() => setIsWide(current.scrollWidth > current.clientWidth));
    observer.observe(current);
    if (current.firstElementChild) observer.observe(current.firstElementChild);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={box} className="list-scroll" {...(isWide ? { tabIndex: 0, role: 'region', 'aria-label': label } : {})}>
      {children}
    </div>
  );
}
