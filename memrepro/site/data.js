// Data that pages read: scripts beside them, since a page from the disk may not fetch.
"use strict";

const memrepro = (() => {
  const loading = {};
  const kept = {};

  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children.filter((child) => child !== null));
    return node;
  };

  const unpack = (packed) => {
    const bytes = Uint8Array.from(atob(packed), (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  };

  // Loads `<key>.js` once; its value when it has called `keep`.
  const load = (key) =>
    (loading[key] ??= new Promise((done, failed) => {
      const node = make("script", { src: `${key}.js` });
      node.onload = () => unpack(kept[key]).then(done, failed).finally(() => delete kept[key]);
      node.onerror = () => failed(new Error(`${key}.js is missing: build the site anew`));
      document.head.append(node);
    }));

  return { keep: (key, packed) => { kept[key] = packed; }, load, make };
})();
window.memrepro = memrepro;
