// A page that was opened from a folder may start no worker. This one runs the script of the search in a hidden frame.
if (location.protocol === "file:") {
  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.inside = this.frame.contentWindow;
      inside.document.open();
      inside.document.write("<!doctype html><body></body>");
      inside.document.close();
      inside.postMessage = (data) => this.tell(data);
      inside.importScripts = async (...urls) => { for (const each of urls) await this.run(each); };
      this.isReady = this.run(url);
    }

    run(url) {
      return new Promise((resolve, reject) => {
        const script = this.inside.document.createElement("script");
        script.addEventListener("load", resolve);
        script.addEventListener("error", reject);
        script.src = url;
        this.inside.document.body.append(script);
      });
    }

    tell(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }

    async postMessage(data) {
      await this.isReady;
      this.inside.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) }));
    }

    terminate() {
      this.frame.remove();
    }
  }
  window.IFrameWorker = window.Worker = FrameWorker; // the theme asks for the first name
}
