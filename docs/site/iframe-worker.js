// The search of pages that are opened as files: browsers give these no worker, so its program runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.hidden = true;
      frame.contentDocument.open();
      frame.contentDocument.close();
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const program = frame.contentDocument.createElement("script");
      this.ready = new Promise((ready) => program.addEventListener("load", ready));
      program.src = url;
      frame.contentDocument.body.append(program);
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
